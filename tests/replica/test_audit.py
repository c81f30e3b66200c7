"""How right answers are, by keys drawn at random: is it so, whatever is believed?"""

from __future__ import annotations

import json

import numpy as np
import pytest

from topwater.replica.audit import DRAWS, FEWEST, Audit, weighted_poisson

K, KEYS = 5, 60


def audited(
    rng: np.random.Generator, share: float, windows: int = DRAWS, claim: float = 0.9
) -> Audit:
    """Windows with keys that are wrong by chance, so that ``share`` of an answer is on average.

    Half of the wrong ones are shown and half are not, and the draws believe something else.
    """
    audit = Audit(0.1)
    for _ in range(windows):
        # As many fall out of the answer as come into it.
        wrong = np.zeros(KEYS, bool)
        wrong[:K] = rng.random(K) < share
        wrong[K + rng.permutation(KEYS - K)[: wrong[:K].sum()]] = True
        chance = rng.dirichlet(np.ones(KEYS)) * 0.6 + 0.4 / KEYS
        at = rng.choice(KEYS, p=chance)
        audit.note(wrong[[at]], (1.0 - chance[[at]]) / chance[[at]], claim, K)
    return audit


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
def test_the_interval_holds_the_truth_whatever_is_believed(share: float) -> None:
    rng = np.random.default_rng(5)
    held, found = 0, []
    for _ in range(120):
        estimate = audited(rng, share).estimate
        assert estimate is not None
        found.append(estimate.precision)
        # What was drawn is right in the answer, so a sixtieth of what is wrong is not there.
        held += estimate.low <= 1.0 - share * (1.0 - 1.0 / KEYS) <= estimate.high
    assert held / 120 >= 0.92
    assert np.mean(found) == pytest.approx(1.0 - share, abs=0.02)


def test_a_claim_that_can_t_be_is_found() -> None:
    rng = np.random.default_rng(6)
    bold, fair, shy = (audited(rng, *each) for each in ((0.5, 200, 0.95), (0.2,), (0.1, 200, 0.3)))
    assert bold.contradicts
    assert not fair.contradicts
    assert abs(fair.excess) < 0.02
    assert shy.contradicts
    assert bold.estimate is not None
    assert bold.excess == pytest.approx(bold.claim - bold.estimate.high)
    assert shy.excess < 0.0


def test_what_answers_say_too_much_is_better_known_with_it_than_without() -> None:
    """Over many audits of answers that are off by as much as answers usually are."""
    rng = np.random.default_rng(9)
    for windows, at_most in ((10, 1.02), (200, 0.95), (1_000, 0.6)):
        left, off = [], []
        for _ in range(60):
            wrong = 0.04 * rng.normal()
            claim = 1.0 - 0.1 * (1.0 - 1.0 / KEYS) + wrong
            left.append(wrong - audited(rng, 0.1, windows, claim).excess)
            off.append(wrong)
        assert np.mean(np.square(left)) < at_most * np.mean(np.square(off))


def test_a_few_draws_hardly_count_and_many_do() -> None:
    rng = np.random.default_rng(10)
    assert abs(audited(rng, 0.3, 3, 0.95).excess) < 0.03
    # The claim is 0.25 too much, and these draws are nearly all in vain.
    assert 0.1 < audited(rng, 0.3, 3_000, 0.95).excess < 0.28


def test_before_there_are_enough_draws_nothing_is_said() -> None:
    audit = audited(np.random.default_rng(7), 0.2, windows=FEWEST - 1)
    assert audit.estimate is None
    assert not audit.contradicts
    assert Audit(0.1).excess == 0.0


def test_without_an_error_the_interval_says_how_little_that_proves() -> None:
    low, high = weighted_poisson(np.zeros(100), 1.0)
    assert low == 0.0
    # The rule of three, and a little more: two ends share the 5 %.
    assert 0.03 < high < 0.045


def test_only_the_last_draws_count_and_a_restart_keeps_them() -> None:
    audit = audited(np.random.default_rng(8), 0.9, windows=50)
    assert audit.estimate is not None
    for _ in range(DRAWS):
        audit.note(np.array([False]), np.array([9.0]), 0.9, K)
    assert audit.estimate.precision == 1.0
    again = Audit(0.1)
    again.restore(json.loads(json.dumps(audit.snapshot())))
    assert again.snapshot() == audit.snapshot()
    assert (again.estimate, again.excess) == (audit.estimate, audit.excess)
    earlier = audit.snapshot()
    del earlier["sums"]
    again.restore(earlier)
    assert (again.estimate, again.excess) == (audit.estimate, 0.0)
    assert len(json.dumps(audit.snapshot())) < 4_000


def test_all_windows_have_as_many_draws_on_average() -> None:
    audit, count = Audit(0.02), 0
    for window in range(1_000):
        audit.note_spent(14 if window % 2 else 0)
        count += audit.wanted()
    assert count == pytest.approx(0.02 * 7 * 1_000, rel=0.1)
