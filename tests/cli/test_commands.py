"""The command line: what it prints, where, and how it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from importlib.metadata import version

import pytest
import typer
from typer.testing import CliRunner

from topwater.cli import app
from topwater.cli.terminal import cause, plain_errors
from topwater.errors import EnvironmentProblem
from topwater.jobs.signals import stop_flag
from topwater_lab.demo import demo_run
from topwater_lab.demo.findings import Report

runner = CliRunner()


def test_version() -> None:
    result = runner.invoke(app, ["--version"])
    assert (result.exit_code, result.output) == (0, f"topwater {version('topwater')}\n")


def test_help_does_not_load_pyspark() -> None:
    code = "import sys, topwater.cli, topwater_lab.demo; print('pyspark' in sys.modules)"
    found = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout == "False\n"


def failing(error: BaseException) -> object:
    def fail(*_: object) -> Report:
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (EnvironmentProblem("no Java", fix="get one"), 3, "error: no Java\n  fix: get one\n"),
        (ValueError("a\nb\n=== Streaming Query ===\nplan"), 1, "error: b\n  fix: see the trace"),
        (KeyboardInterrupt(), 130, "stopped\n"),
    ],
)
def test_errors_are_two_lines_and_a_code(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, told: str
) -> None:
    monkeypatch.setattr(demo_run, "run", failing(error))
    result = runner.invoke(app, ["demo"])
    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr.startswith(told)


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_run, "run", failing(EnvironmentProblem("no Java")))
    result = runner.invoke(app, ["demo", "--debug"])
    assert result.exit_code == 3
    assert "Traceback" in result.stderr
    assert "topwater.errors.EnvironmentProblem: no Java" in result.stderr


def test_the_cause_is_found_in_what_java_says() -> None:
    said = "An error occurred while calling o4.parquet.\n: org.apache.spark.SparkException: "
    said += "[FAILED_READ_FILE.NO_HINT] Encountered error while reading in/1.json.\n"
    said += "If not, convert it. SQLSTATE: KD001\n\tat org.apache.spark.X(X.scala:1)\n\t... 3 more"
    assert cause(ValueError(said)) == "Encountered error while reading in/1.json."
    failed = "[STREAM_FAILED] Query [id = 7] terminated with exception: boom\nit broke"
    assert cause(ValueError(failed)) == "it broke"


def test_an_error_without_words_is_named_by_its_type() -> None:
    assert cause(ValueError()) == "ValueError"


def test_what_java_says_inside_of_what_python_says() -> None:
    """A table that is read in a micro-batch fails in Java, and Python only tells where."""
    error = ValueError(
        "An exception was raised by the Python Proxy. Return Message: Traceback (most recent):\n"
        "    raise Py4JJavaError(\n"
        "py4j.protocol.Py4JJavaError: An error occurred while calling o386.collectToPython.\n"
        ": org.x.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while reading file "
        "in/b.parquet.  SQLSTATE: KD001\n\tat org.x.Y.z(Y.scala:920)\n"
    )
    assert cause(error) == "Encountered error while reading file in/b.parquet."


def test_our_own_errors_keep_their_fix_on_their_way_through_spark(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(typer.Exit), plain_errors():
        raise ValueError(
            "[STREAM_FAILED] Query terminated with exception: Traceback (most recent call last):\n"
            '  File "x.py", line 2, in latestOffset\n'
            "topwater.errors.StateError: the spool s can't be written: No space left on device\n"
            "  fix: make room for it, and start again: nothing is lost\n\n\tat org.x.Y\n"
        )
    assert capsys.readouterr().err == (
        "error: the spool s can't be written: No space left on device\n"
        "  fix: make room for it, and start again: nothing is lost\n"
    )


def test_ctrl_c_sets_the_flag_and_the_old_handler_comes_back() -> None:
    assert threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    with stop_flag() as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop.wait(5)
    assert signal.getsignal(signal.SIGINT) is before
