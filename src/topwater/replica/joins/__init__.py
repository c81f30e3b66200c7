"""Several remote values, of several sources, by several keys: what they are, and what is spent.

::

    window ──► rows ──► entries of each join ──► worth ──► wallet ──► look-ups ──► ranking
               (ranked   (by the ranked key, or   (of knowing  (cost, quotas,
                keys)     a column of the stream)  an entry)    one deadline)
"""
