"""What is in the two wheels, and what is not."""

from __future__ import annotations

import configparser
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_string
from email.message import Message
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]


class Wheel(NamedTuple):
    """A wheel that was built."""

    files: set[str]
    metadata: Message
    entry_points: configparser.ConfigParser

    @property
    def version(self) -> str:
        return str(self.metadata["Version"])

    @property
    def needs(self) -> set[str]:
        return set(self.metadata.get_all("Requires-Dist", []))


def built(project: Path, out: Path) -> Wheel:
    """Build a wheel as pip would, with the backend that is installed."""
    code = "import sys, hatchling.build; print(hatchling.build.build_wheel(sys.argv[1]))"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code, str(out)],
        cwd=project,
        capture_output=True,
        text=True,
        check=True,
    )
    with zipfile.ZipFile(out / done.stdout.split()[-1]) as wheel:
        files = set(wheel.namelist())
        inside = {name.rpartition("/")[2]: name for name in files if ".dist-info/" in name}
        metadata = message_from_string(wheel.read(inside["METADATA"]).decode())
        entry_points = configparser.ConfigParser(delimiters="=")
        entry_points.read_string(wheel.read(inside["entry_points.txt"]).decode())
    return Wheel({name for name in files if ".dist-info/" not in name}, metadata, entry_points)


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Wheel:
    return built(ROOT, tmp_path_factory.mktemp("product"))


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Wheel:
    return built(ROOT / "lab", tmp_path_factory.mktemp("lab"))


def sources(package: str) -> set[str]:
    """All files of a package, as a wheel names them."""
    found = (ROOT / "src" / package).rglob("*")
    named = (path for path in found if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(ROOT / "src")) for path in named}


def test_the_product_is_one_package_and_all_of_it(product: Wheel) -> None:
    assert product.files == sources("topwater")
    assert {
        "topwater/py.typed",
        "topwater/spark/Sieve.java",
        "topwater/spark/topwater-spark.jar",
    } <= product.files
    page = {name for name in product.files if name.startswith("topwater/live/static/")}
    assert {Path(name).suffix for name in page} == {".html", ".css", ".js", ".svg"}


def test_nothing_of_the_laboratory_or_the_tests_is_in_the_product(product: Wheel) -> None:
    assert {name.split("/")[0] for name in product.files} == {"topwater"}
    assert not [name for name in product.files if "test_" in name or "conftest" in name]
    assert list(product.entry_points) == ["DEFAULT", "console_scripts"]


def test_the_laboratory_is_one_package_and_all_of_it(lab: Wheel) -> None:
    assert lab.files == sources("topwater_lab")
    assert "topwater_lab/py.typed" in lab.files


def test_the_laboratory_offers_what_can_be_loaded(lab: Wheel) -> None:
    groups = {"topwater.commands", "topwater.examples", "topwater.algorithms"}
    assert groups == set(lab.entry_points.sections())
    for group in groups:
        for value in lab.entry_points[group].values():
            module = value.partition(":")[0].replace(".", "/")
            assert {f"{module}.py", f"{module}/__init__.py"} & lab.files


def test_the_two_have_one_version_and_each_names_the_other(product: Wheel, lab: Wheel) -> None:
    assert product.version == lab.version
    assert f"topwater=={product.version}" in lab.needs
    assert f"topwater-lab=={lab.version}; extra == 'lab'" in product.needs


def test_what_only_the_laboratory_needs_is_not_needed_by_the_product(
    product: Wheel, lab: Wheel
) -> None:
    always = {each.partition(">")[0] for each in product.needs if ";" not in each}
    only = {each.partition(">")[0] for each in lab.needs if not each.startswith("topwater")}
    assert only == {"duckdb", "polars", "pyoxigraph"}
    assert not only & always


def test_the_installation_of_a_checkout_has_both() -> None:
    """In the environment in which the tests run."""
    from importlib.metadata import version

    said = [
        tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]["version"]
        for folder in (".", "lab")
    ]
    assert [version("topwater"), version("topwater-lab")] == said
