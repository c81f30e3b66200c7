"""Why look-ups bring no number."""

from __future__ import annotations

from topwater.problems import LACKS, NEVER, REASONS, STATED, in_words, tally


def test_every_reason_has_words() -> None:
    for reason in (*REASONS, NEVER, ""):
        assert in_words(reason) != reason, reason


def test_places_of_reasons_stay() -> None:
    """States have them as numbers: new reasons go to the end."""
    assert REASONS == (
        "late", "timeout", "refused", "dropped", "limited", "server", "client", "redirect", "tls",
        "garbled", "large", "doubled", "rate", "open", "broken",
        "not_found", "null", "no_value", "not_a_number",
        "other_type",
    )  # fmt: skip
    assert set(STATED) < set(LACKS) < set(REASONS)


def test_the_most_frequent_is_told_first() -> None:
    told = tally({"null": 1, "doubled": 1_200}.items())
    assert told == "1,200 × two values for one key, 1 × no value (null)"
