"""The top of the package: what it offers, when it is loaded, and what stands in nobody's way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import topwater

NAMES = sorted(topwater.__all__)
PACKAGES = {"remote", "spark"}


def ran(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_it_loads_nothing_that_takes_time() -> None:
    heavy = {"numpy", "pyarrow", "pandas", "polars", "pyspark", "py4j", "httpx", "numba", "rdflib"}
    code = f"import sys, topwater; dir(topwater); print(sorted({heavy!r} & set(sys.modules)))"
    assert ran(code) == "[]\n"


@pytest.mark.parametrize(
    "before",
    ["", "import topwater.candidates", "import topwater.candidates, topwater.spark.topk"],
    ids=["alone", "after the lists", "after the module"],
)
def test_topk_is_the_function_whatever_was_imported_before(before: str) -> None:
    code = f"""
{before}
import inspect, topwater
from topwater import topk
import topwater.candidates
from topwater import topk as again
import topwater.spark
assert inspect.isfunction(topk) and topk is again is topwater.topk is topwater.spark.topk
print(topk.__module__)
"""
    assert ran(code) == "topwater.spark.topk\n"


def test_no_name_is_taken_by_a_module() -> None:
    """A module that is imported takes the place of whatever has its name in its package."""
    folder = Path(topwater.__file__).parent
    modules = {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert modules & set(NAMES) == PACKAGES


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_there_and_says_what_it_is(name: str) -> None:
    found = getattr(topwater, name)
    assert found.__doc__
    assert getattr(topwater, name) is found
    if name not in PACKAGES:
        assert found.__name__ == name
        assert found.__module__.startswith("topwater.")


def test_dir_shows_the_public_names_and_no_others() -> None:
    assert [name for name in dir(topwater) if not name.startswith("__")] == NAMES
    assert topwater.__version__.count(".") == 2
    with pytest.raises(AttributeError, match="'topwater' has no attribute 'tokp'"):
        topwater.tokp  # noqa: B018


def test_help_lists_what_there_is() -> None:
    told = ran("import pydoc, topwater; print(pydoc.plain(pydoc.render_doc(topwater)))")
    assert "needs PySpark" not in told
    for name in set(NAMES) - PACKAGES:
        assert f"class {name}" in told or f"    {name}(" in told, name


WITHOUT = "import sys; sys.modules['pyspark'] = None; import topwater\n"
"""As where PySpark is not installed."""


@pytest.mark.parametrize("use", ["topwater.topk", "from topwater import start", "topwater.spark"])
def test_without_spark_it_says_how_to_get_it(use: str) -> None:
    code = f"""
try:
    {use}
except topwater.EnvironmentProblem as error:
    print(error)
"""
    name = use.split()[-1].removeprefix("topwater.")
    told = f"topwater.{name} needs PySpark, which is not installed"
    assert ran(WITHOUT + code) == f'{told}\n  fix: pip install "pyspark>=4.1"\n'


def test_without_spark_all_else_works() -> None:
    code = """
import importlib.util, pydoc
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name: None if name == "pyspark" else find_spec(name)
query = topwater.TopKQuery(key="a", time="t", window=topwater.tumbling(5), score="s", k=1)
assert [each.keys for each in topwater.run(query, [{"a": [1], "t": [1], "s": [1.0]}])] == [[1]]
assert not {"spark", "topk", "start"} & {*dir(topwater)}
assert "TopKQuery" in pydoc.render_doc(topwater)
"""
    ran(WITHOUT + code)
