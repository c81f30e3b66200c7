"""What is known of every group without looking into it: when it is due, how silent, how large."""

from __future__ import annotations

import heapq
from typing import NamedTuple

from topwater.model import Key, Millis


class Entry(NamedTuple):
    """What is known of a group.

    Attributes
    ----------
    window
        The next of its windows that holds something; None if the group is silent.
    watermark
        How far its events have come.
    size
        About how many bytes its replica takes.
    """

    window: int | None
    watermark: Millis
    size: int


class GroupBook:
    """All groups that are remembered. Finding those that are due costs what these are.

    Examples
    --------
    >>> book = GroupBook()
    >>> for group, window in (("a", 3), ("b", None), ("c", 2)):
    ...     book.note(group, Entry(window, 100, 50))
    >>> book.due(2), book.due(3), book.next_window, book.longest_silent(5), book.size
    ([(2, 'c')], [(2, 'c'), (3, 'a')], 2, ['b'], 150)
    """

    def __init__(self) -> None:
        self._entries: dict[Key, Entry] = {}
        self._due: dict[int, set[Key]] = {}
        self._silent: dict[Key, Millis] = {}
        self.size = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, group: Key) -> bool:
        return group in self._entries

    def get(self, group: Key) -> Entry | None:
        """What is known of a group, if anything."""
        return self._entries.get(group)

    @property
    def groups(self) -> list[Key]:
        """All of them, in order."""
        return sorted(self._entries)

    @property
    def silent(self) -> int:
        """How many have no window that holds something."""
        return len(self._silent)

    @property
    def next_window(self) -> int | None:
        """The first window that holds something of any group."""
        return min(self._due, default=None)

    def note(self, group: Key, entry: Entry) -> None:
        """Remember this of a group, in place of what was known.  O(1)."""
        self.drop(group)
        self._entries[group] = entry
        self.size += entry.size
        if entry.window is None:
            self._silent[group] = entry.watermark
        else:
            self._due.setdefault(entry.window, set()).add(group)

    def drop(self, group: Key) -> None:
        """Forget a group, if it is known.  O(1)."""
        entry = self._entries.pop(group, None)
        if entry is None:
            return
        self.size -= entry.size
        if entry.window is None:
            del self._silent[group]
            return
        others = self._due[entry.window]
        others.discard(group)
        if not others:
            del self._due[entry.window]

    def due(self, until: int | None) -> list[tuple[int, Key]]:
        """Groups whose next window is not after ``until``, with it and in its order; None for all.

        O(windows + groups found).
        """
        windows = sorted(window for window in self._due if until is None or window <= until)
        return [(window, group) for window in windows for group in sorted(self._due[window])]

    def longest_silent(self, count: int) -> list[Key]:
        """So many of the silent groups, those silent longest first."""
        found = heapq.nsmallest(count, ((at, group) for group, at in self._silent.items()))
        return [group for _, group in found]

    def sizes(self) -> dict[Key, int]:
        """Of all groups."""
        return {group: entry.size for group, entry in self._entries.items()}
