"""What is known of groups without looking into them."""

from __future__ import annotations

import numpy as np

from topwater.monitor.group_book import Entry, GroupBook


def test_the_book_knows_what_a_plain_list_would_say() -> None:
    rng, book, plain = np.random.default_rng(3), GroupBook(), dict[int, Entry]()
    for _ in range(2_000):
        group = int(rng.integers(0, 40))
        if rng.random() < 0.2:
            book.drop(group)
            plain.pop(group, None)
        else:
            window = None if rng.random() < 0.4 else int(rng.integers(0, 9))
            plain[group] = Entry(window, int(rng.integers(0, 5)), int(rng.integers(0, 99)))
            book.note(group, plain[group])
        until = int(rng.integers(0, 10))
        waiting = [(each.window, key) for key, each in plain.items() if each.window is not None]
        silent = sorted((each.watermark, key) for key, each in plain.items() if each.window is None)
        assert book.due(until) == sorted(turn for turn in waiting if turn[0] <= until)
        assert book.due(None) == sorted(waiting)
        assert book.next_window == min((window for window, _ in waiting), default=None)
        assert (len(book), book.silent) == (len(plain), len(silent))
        assert book.longest_silent(3) == [key for _, key in silent[:3]]
        assert book.size == sum(each.size for each in plain.values())
        assert book.groups == sorted(plain)
        assert book.get(group) == plain.get(group)
        assert (group in book) == (group in plain)
    assert book.sizes() == {group: each.size for group, each in plain.items()}
