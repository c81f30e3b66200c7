"""Compile our classes in Java into src/topwater/spark/topwater-spark.jar. Run by `make jar`.

The jar is committed beside its sources: who installs Topwater needs no compiler, and nothing is
compiled while a query runs. It is the same to the byte each time: entries are in order, without
compression, and have no times. With --check it is only compared; another release of javac may
write other bytes for the same source, so the jar says which one made it.
"""

import hashlib
import io
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

RELEASE = 17
ROOM = Path(__file__).resolve().parent.parent / "src" / "topwater" / "spark"
JAR = ROOM / "topwater-spark.jar"
MANIFEST = "META-INF/MANIFEST.MF"
NEEDED = ("scala-library", "spark-common-utils", "spark-core", "spark-sql-api")
"""What the sources are compiled against: the public part of Spark, of any version from 4.1 on."""

LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the first day of a zip file's calendar


def stop(problem, fix):
    """Say what is wrong and what to do, and end."""
    sys.exit(f"error: {problem}\n  fix: {fix}")


def sources():
    """The files that are compiled, in order."""
    return sorted(ROOM.glob("*.java"))


def fingerprint():
    """What tells one state of the sources from another."""
    digest = hashlib.sha256()
    for path in sources():
        digest.update(path.name.encode() + b"\n" + path.read_bytes())
    return digest.hexdigest()


def compiler():
    """The major number of javac; 0 if there is none that can make classes for our release."""
    if shutil.which("javac") is None:
        return 0
    said = subprocess.run(
        ["javac", "-version"],  # noqa: S607
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    ).stdout
    found = re.search(r"javac (\d+)", said)
    number = int(found.group(1)) if found else 0
    return number if number >= RELEASE else 0


def spark_jars():
    """Those of the PySpark that is installed, as far as they are needed."""
    found = find_spec("pyspark")
    folder = Path(found.origin).parent / "jars" if found else Path("jars")
    jars = [path for path in sorted(folder.glob("*.jar")) if path.name.startswith(NEEDED)]
    if not jars:
        stop("there is no Spark to compile against", "run it with the Python of .venv")
    return jars


def compiled():
    """The classes, by their paths in the jar."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(  # noqa: S603
            [  # noqa: S607
                "javac",
                *("--release", str(RELEASE), "-g:source,lines", "-Xlint:all,-path,-classfile"),
                *("-Werror", "-implicit:none", "-proc:none", "-encoding", "UTF-8"),
                *("-cp", ":".join(map(str, spark_jars())), "-d", folder),
                *map(str, sources()),
            ],
            check=True,
        )
        made = Path(folder)
        return {
            path.relative_to(made).as_posix(): path.read_bytes()
            for path in sorted(made.rglob("*.class"))
        }


def manifest(number):
    """What the jar says of itself."""
    lines = [
        "Manifest-Version: 1.0",
        f"Build-Jdk-Spec: {number}",
        f"Topwater-Sources: {fingerprint()[:32]}",
    ]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode()


def packed(classes, number):
    """The bytes of the jar."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as jar:
        for name, content in [(MANIFEST, manifest(number)), *sorted(classes.items())]:
            entry = zipfile.ZipInfo(name, LONG_AGO)
            entry.external_attr = 0o644 << 16
            jar.writestr(entry, content)
    return out.getvalue()


def made_by(jar=JAR):
    """Which javac made the committed jar, and from which sources."""
    with zipfile.ZipFile(jar) as file:
        text = file.read(MANIFEST).decode()
    told = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    return int(told["Build-Jdk-Spec"]), told["Topwater-Sources"]


def main():
    """Build the jar, or compare it."""
    number = compiler()
    if not number:
        stop(f"there is no javac {RELEASE} or newer", f"apt install openjdk-{RELEASE}-jdk-headless")
    made = packed(compiled(), number)
    if "--check" not in sys.argv:
        JAR.write_bytes(made)
        print(f"{JAR.name}: {len(made):,} bytes, by javac {number}")
    elif JAR.read_bytes() != made:
        stop(f"{JAR.name} is not what javac {number} makes of its sources", "make jar")


if __name__ == "__main__":
    main()
