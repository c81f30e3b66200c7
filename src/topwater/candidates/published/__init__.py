"""The papers' lists, by their papers' names: what ours is compared with."""
