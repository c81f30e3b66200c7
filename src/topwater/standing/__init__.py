"""Thousands of top-k queries over one stream, each with its own k, window and score.

======================  ==========================================================================
``rapf``                the default: a relaxed skyband behind a probabilistic filter; exact
``auto``                ``pa`` where the order of the stream allows it, ``rapf`` elsewhere; exact
``pa``                  the probabilistic skyband: fastest, errs with a bounded probability, and
                        only if the stream comes in random order
``sa``, ``ra``          the strict and the relaxed skyband, without a filter
``sasf`` … ``rarf``     either of them behind a strict (``sf``), relaxed (``rf``) or probabilistic
                        (``pf``) filter
======================  ==========================================================================
"""

from __future__ import annotations

from topwater.standing.standing import Results, Standing
from topwater.standing.standing_query import StandingQuery

__all__ = ["Results", "Standing", "StandingQuery"]
