"""What is shown of a window."""

from __future__ import annotations

from unittest.mock import Mock

from topwater.live import Truth
from topwater.model import Answer, Window
from topwater_lab.demo import window_comparison
from topwater_lab.demo.contenders import TABLE, Contender, Field, Verdict
from topwater_lab.demo.window_comparison import described, label


def contender(name: str, ndcg: float = 0.5, precision: float = 0.5) -> Contender:
    return Contender(name, (Verdict((1, 2), ndcg, precision, 7),))


def test_caches_are_known_by_their_time_to_live() -> None:
    assert [label(contender(name)) for name in ("ttl:5 min", "ttl", "at-lru", "worth")] == [
        "TTL 5 min",
        "ttl",
        "at-lru",
        "worth",
    ]


def test_each_is_described_by_how_it_was_chosen() -> None:
    both, other = contender("at-tsm", 0.9, 0.9), contender("at-lru")
    precise, right = contender("ttl:1 min", 0.5, 0.9), contender("ttl:2 min", 0.9, 0.5)
    table = contender(TABLE)
    field = Field((both, other), (precise, right), table, contender("at-asm"))
    hindsight = "in hindsight the best by"
    assert {each.name: described(each, field) for each in (both, other, precise, right)} == {
        "at-tsm": f"a published policy, {hindsight} nDCG and precision",
        "at-lru": "a published policy, as you asked",
        "ttl:1 min": f"a cache whose entries live 1 min, {hindsight} precision",
        "ttl:2 min": f"a cache whose entries live 2 min, {hindsight} nDCG",
    }
    assert described(table, field) == "a table loaded at the start and joined, never refreshed"
    assert described(contender("worth"), field).startswith("what is worth most")
    assert described(contender("lru"), field) == "as you asked"


def test_a_window_is_put_on_the_page_with_all_its_verdicts() -> None:
    answer = Answer(Window(0, 0, 60_000), ())
    ours, rival = Verdict((1,), 0.75, 0.5, 7), Verdict((2,), 0.25, 0.125, 3)
    window = window_comparison.Window(answer, ours, (1, 2), {"TTL 5 min": rival})
    assert window.columns == [ours, rival]
    page = Mock()
    window.put(page)
    page.put.assert_called_once_with(
        answer, truth=Truth(0.5, 0.75), rivals={"TTL 5 min": Truth(0.125, 0.25)}
    )
