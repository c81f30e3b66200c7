"""Checks of the contracts in :mod:`topwater.protocols`, for our implementations and for yours.

Plain Python and NumPy: usable from any test runner.
"""

from topwater.testing.hand_clock import HandClock
from topwater.testing.list_contract import check_list
from topwater.testing.policy_contract import check_policy
from topwater.testing.random_items import WINDOWS, best_first, random_cuts, random_items, rows
from topwater.testing.scripted_source import Scripted
from topwater.testing.source_contract import check_failing_source, check_source

__all__ = [
    "WINDOWS",
    "HandClock",
    "Scripted",
    "best_first",
    "check_failing_source",
    "check_list",
    "check_policy",
    "check_source",
    "random_cuts",
    "random_items",
    "rows",
]
