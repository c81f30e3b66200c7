"""What is used of Spark beyond its public API: in one place, and each with a way without it."""

from __future__ import annotations

import ast
import inspect
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkAttributeError
from pyspark.sql.types import LongType, StringType, StructType, TimestampType

from topwater.errors import EnvironmentProblem
from topwater.spark import compat
from topwater.spark.folders import names_in, require_java

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

ROOM = Path(compat.__file__).parent
PUBLIC = {
    "pyspark",
    "pyspark.errors",
    "pyspark.logger",
    "pyspark.sql",
    "pyspark.sql.datasource",
    "pyspark.sql.functions",
    "pyspark.sql.group",
    "pyspark.sql.streaming",
    "pyspark.sql.streaming.datasource",
    "pyspark.sql.streaming.listener",
    "pyspark.sql.streaming.query",
    "pyspark.sql.streaming.stateful_processor",
    "pyspark.sql.types",
    "pyspark.sql.udtf",
}
"""The modules of Spark whose documentation is for users."""

OF_TUPLES = {"_asdict", "_fields", "_replace"}


class Remote:
    """A session of Spark Connect, as far as it says what it lacks."""

    def __getattr__(self, name: str) -> Any:
        raise PySparkAttributeError(
            errorClass="JVM_ATTRIBUTE_NOT_SUPPORTED", messageParameters={"attr_name": name}
        )


def rooms() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(ROOM.glob("*.py")):
        if path.stem != "compat":
            yield path.stem, ast.parse(path.read_text("utf-8"))


def imported(tree: ast.Module) -> set[str]:
    """Modules of Spark and of Py4J, by whatever form of import."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{each.name}" for each in node.names if each.name[0] == "_"}
            if node.module == "pyspark":
                found |= {
                    "pyspark.cloudpickle" for each in node.names if each.name == "cloudpickle"
                }
    return {name for name in found if name.partition(".")[0] in ("pyspark", "py4j")}


def defined(tree: ast.Module) -> set[str]:
    """Names that a module gives itself, as attributes too."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def private(tree: ast.Module) -> set[str]:
    """Names with an underscore that are asked of something, in code or as text."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            found.add(node.attr)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "hasattr"):
            found |= {str(each.value) for each in node.args[1:2] if isinstance(each, ast.Constant)}
    return {name for name in found if name.startswith("_") and not name.endswith("__")}


def test_no_other_module_imports_what_is_not_public() -> None:
    odd = {name: imported(tree) - PUBLIC for name, tree in rooms()}
    assert {name: found for name, found in odd.items() if found} == {}


def test_no_other_module_uses_a_private_name_of_spark() -> None:
    ours = {name for _, tree in rooms() for name in defined(tree)} | OF_TUPLES
    odd = {name: private(tree) - ours for name, tree in rooms()}
    assert {name: found for name, found in odd.items() if found} == {}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("spark._jvm.java", {"_jvm"}),
        ("getattr(frame, '_jdf')", {"_jdf"}),
        ("SparkContext._active_spark_context", {"_active_spark_context"}),
        ("session.conf.get('_x')", set()),
    ],
)
def test_the_check_sees_private_names(line: str, found: set[str]) -> None:
    assert private(ast.parse(line)) == found


@pytest.mark.parametrize(
    "line",
    [
        "from py4j.protocol import Py4JError",
        "from pyspark import cloudpickle",
        "import pyspark.sql.pandas.types",
        "from pyspark.sql.connect.session import SparkSession",
    ],
)
def test_the_check_sees_private_modules(line: str) -> None:
    assert imported(ast.parse(line)) - PUBLIC


def test_each_entry_says_since_when_and_what_happens_without_it() -> None:
    functions = [
        each
        for _, each in inspect.getmembers(compat, inspect.isfunction)
        if each.__module__ == compat.__name__
    ]
    assert len(functions) > 10
    for each in functions:
        text = " ".join((inspect.getdoc(each) or "").split())
        assert "Since " in text, each.__name__
        assert "Without it" in text, each.__name__


ALONE = """
import sys
sys.modules["py4j"] = sys.modules["pyspark.core"] = None  # as with the package pyspark-client
import topwater.spark
from topwater.spark import compat, session
from topwater.errors import EnvironmentProblem
print(compat.java_errors(), compat.gateway(), compat.active_context())
try:
    compat.new_context(None)
except EnvironmentProblem as error:
    print(error.problem)
"""


def test_the_client_of_spark_connect_is_enough_to_import_it() -> None:
    run = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True)  # noqa: S603
    assert run.stderr == ""
    assert run.stdout.splitlines() == [
        "() None None",
        "this Python has the client of Spark Connect only, which can't start Spark",
    ]


def test_over_spark_connect_there_is_no_java() -> None:
    remote: Any = Remote()
    assert compat.java(remote) is None
    assert compat.plan_in_java(remote) is None
    with pytest.raises(EnvironmentProblem, match="can't be moved over Spark Connect"):
        require_java(remote, "it can't be moved")


def test_a_schema_has_its_times_in_utc() -> None:
    columns = StructType().add("at", TimestampType()).add("n", LongType()).add("s", StringType())
    found = compat.arrow_schema(columns)
    assert found.names == ["at", "n", "s"]
    assert found.field("at").type == pa.timestamp("us", "UTC")


def test_what_a_module_defines_travels_as_it_is() -> None:
    module = ModuleType("nowhere_to_be_found")
    exec("def double(x): return 2 * x", module.__dict__)  # noqa: S102
    sys.modules[module.__name__] = module
    try:
        compat.pickle_by_value(module)
        packed = compat.pickled(module.double)
    finally:
        del sys.modules[module.__name__]
    assert pickle.loads(packed)(21) == 42  # noqa: S301


@pytest.mark.spark
def test_java_is_there_in_a_session_of_this_process(spark: SparkSession, tmp_path: Path) -> None:
    assert compat.java(spark).java.lang.System.getProperty("java.version")
    assert compat.gateway() is not None
    assert compat.active_context() is spark.sparkContext
    assert compat.plan_in_java(spark.range(1)).nodeName() == "Range"
    assert list(compat.java_objects(spark, ["a", 2])) == ["a", 2]
    (tmp_path / "here").touch()
    assert names_in(spark, str(tmp_path)) == ["here"]
