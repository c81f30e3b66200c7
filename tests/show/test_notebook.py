"""How values look in a notebook and in an editor."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import warnings
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.support.shown import EVIL, QUERY, answer
from topwater import Answer, Answers, Formula, Row, Window
from topwater.show.explain import explanation

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "notebook"


def test_an_answer_shows_bars_freshness_accuracy_and_counts() -> None:
    text = answer()._repr_html_()
    told = re.sub(r"<style>.*?</style>", "", text, flags=re.S)
    told = " ".join(re.sub(r"<[^>]+>", " ", told).split())
    for word in ("(0, 10]", "about 84% right", "7 looked up", "1 failed", "12 events", "3 late"):
        assert word in told
    assert re.search(r"0\.5 now 100%", told)
    assert "4,000 2 min ago 40%" in told
    assert text.count('class="bar') == 4
    assert "less accurate than asked" in told


def test_without_a_remote_part_there_is_nothing_of_it() -> None:
    plain = Answer(Window(0, 0, 10), (Row(1, "ann", 2.5, 7),))
    text = plain._repr_html_()
    assert "fetched" not in text
    assert "exact" in text
    assert repr(plain) == "<Answer (0, 10]: 1. 'ann' (2.5); exact, 0 events>"


def test_a_line_of_text_is_short_whatever_k_is() -> None:
    many = replace(answer(), rows=tuple(Row(at, at, 1.0, 1) for at in range(1, 1_001)))
    assert "and 995 more" in repr(many)
    assert len(repr(many)) < 250
    assert "2026-01-01 00:00:00 – 00:01:00" in repr(
        replace(many, window=Window(0, 1_767_225_600_000, 1_767_225_660_000))
    )
    nothing = Answer(Window(0, 0, 10), ())
    assert "nothing" in repr(nothing)
    assert "<table>" in nothing._repr_html_()


@pytest.mark.parametrize(
    "shown",
    [
        answer(EVIL)._repr_html_(),
        answer(EVIL).plot()._repr_html_(),
        answer(1, group=EVIL)._repr_html_(),
        Answers([answer(EVIL), answer(1, group=EVIL)])._repr_html_(),
        Answers([answer(EVIL), answer("x")]).plot()._repr_html_(),
        replace(QUERY, group_by=EVIL)._repr_html_(),
    ],
)
def test_keys_stay_text_and_nothing_is_loaded(shown: str) -> None:
    assert "<script" not in shown
    assert "&lt;scrip" in shown, "it is shown, as text"
    assert not re.search(r"https?://|src=|href=|@import|url\(", shown)


def test_a_query_is_shown_explained() -> None:
    shown = QUERY._repr_html_()
    for text in ("3 look-ups a window for each team, chosen by lru", "one ranking for each team"):
        assert text in shown
    assert "<b>The 5 best of each window</b>" in shown
    assert "<li>each answer carries an estimate of how accurate it is" in shown
    assert explanation(QUERY)._repr_html_() == shown
    assert repr(QUERY) == (
        "<TopKQuery: the 5 best by n + followers, over the last 100 s, every 1 min, with "
        "followers of each user: 3 look-ups a window for each team, chosen by lru>"
    )
    smallest = replace(QUERY, score=Formula("n + followers", order="smallest"))
    assert "the 5 best by n + followers, the smallest first, over" in repr(smallest)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_the_example_notebooks_run(path: Path, tmp_path: Path) -> None:
    """In a kernel of their own, with a real service on this machine."""
    book = nbformat.read(path, 4)  # type: ignore[no-untyped-call]
    assert all(not cell.get("outputs") for cell in book.cells), "kept without results"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Jupyter's own
        client = NotebookClient(book, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
        client.execute()
    outputs = [each for cell in book.cells for each in cell.get("outputs", ())]
    assert {each.output_type for each in outputs} == {"execute_result"}
    shown = [each.data["text/html"] for each in outputs if "text/html" in each.data]
    assert len(shown) >= 5
    assert sum("<svg" in each for each in shown) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.timeout(280)
def test_types_are_complete_for_those_who_import_it(tmp_path: Path) -> None:
    """Outside of this repository, with the strictest settings.

    What `make lint` has read of all libraries is used again, which takes settings as it has them.
    """
    program = shutil.copy(ROOT / "tests" / "support" / "consumer.py", tmp_path)
    cache = tmp_path / "cache"
    if (ROOT / ".mypy_cache").is_dir():
        shutil.copytree(ROOT / ".mypy_cache", cache)
    checked = [sys.executable, "-m", "mypy", "--strict", "--warn-unreachable"]
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    checked += [f"--enable-error-code={code}" for code in ours["enable_error_code"]]
    done = subprocess.run(  # noqa: S603
        [*checked, "--cache-dir", str(cache), program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    shutil.rmtree(cache)
    assert done.stdout.startswith("Success"), done.stdout


def test_a_picture_can_be_opened_whatever_a_key_holds(tmp_path: Path) -> None:
    shown = answer(f'{EVIL}"&\x00\x1b\ud800\ufffe', group="<b>\x00")
    for chart in (shown.plot(), Answers([replace(shown, group=None)]).plot()):
        picture = ET.parse(chart.save(tmp_path / "chart.svg"))  # noqa: S314
        assert not list(picture.iter("{http://www.w3.org/2000/svg}script"))
        assert "<script>" in "".join(picture.getroot().itertext())
