"""Text → the parts of a query: the streaming clauses, and plain SPARQL."""
