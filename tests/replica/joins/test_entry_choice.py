"""Which entries are weighed, and that what matters is among them."""

from __future__ import annotations

import numpy as np

from tests.support.joined_rows import K, scene
from topwater.replica.joins.entry_choice import EntryChoice
from topwater.replica.joins.join_settings import JoinSettings
from topwater.windows import sliding

JOINS = [{"remote": "price", "from": "price"}, {"remote": "trust", "from": "trust", "cost": 5}]
CHOICE = EntryChoice(JoinSettings.of(JOINS, 50), sliding(3_000, 1_000), K)
KNOWN = {"price": dict.fromkeys(range(20), 1.0), "trust": dict.fromkeys(range(20), 1.0)}


def test_everything_is_wanted_of_rows_that_can_pass() -> None:
    values = scene("sold * price * trust", "sold > 2", [1.0, 3.0, 9.0], {})
    price, trust = CHOICE.all_of(values, values.scores())
    assert price.keys.tolist() == trust.keys.tolist() == [2, 1]
    assert np.isinf(price.worth).all()


def test_the_first_entries_are_read_to_learn_what_values_are_like() -> None:
    values = scene("sold * price * trust", None, [float(each) for each in range(200)], {})
    price, trust = CHOICE.weighed(values, values.scores())
    assert price.keys[:3].tolist() == trust.keys[:3].tolist() == [199, 198, 197]
    assert len(price) >= 16
    assert (np.diff(price.worth) <= 0).all()


def test_of_many_rows_few_are_weighed() -> None:
    sold = [float(each) for each in range(3_000)]
    values = scene("sold * price * trust", None, sold, KNOWN)
    rows = CHOICE.judged(values, values.scores())
    assert len(rows) <= 2 * 256 + K
    assert rows[0] == 2_999


def test_what_was_never_read_and_may_be_best_is_wanted_first() -> None:
    price = {each: float(1 + each % 9) for each in range(60)}
    trust = dict.fromkeys(range(60), 1.0)
    values = scene("price * trust + 0 * sold", None, [1.0] * 64, {"price": price, "trust": trust})
    wanted, _ = CHOICE.weighed(values, values.scores())
    assert set(wanted.keys[:4].tolist()) == {60, 61, 62, 63}
