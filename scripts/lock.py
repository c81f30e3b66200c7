"""Write the hashes into requirements.lock: of every file that pip may take for a pinned version.

Run it with the Python of .venv after a version in requirements.lock was changed. It asks the
package index that pip is configured for, and downloads no package.
"""

import re
import sys
from pathlib import Path

from pip._internal.commands import create_command
from pip._internal.index.collector import parse_links
from pip._internal.models.link import Link
from pip._vendor.packaging.utils import (
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from pip._vendor.packaging.version import Version

LOCK = Path(__file__).resolve().parent.parent / "requirements.lock"
PIN = re.compile(r"([A-Za-z0-9._-]+)==([^\s;\\]+)")
PLATFORMS = re.compile(r"any$|manylinux.*_(x86_64|aarch64)$|macosx.*_(x86_64|arm64|universal2)$")
PYTHONS = re.compile(r"(?:cp|py)(?:3|31[1-4])(?:\D|$)|py2\.py3")


def pins():
    """The names and versions that the file pins, as they are written there."""
    return PIN.findall(LOCK.read_text())


def collector():
    """What asks the index, as `pip download` would."""
    command = create_command("download", isolated=False)
    options, _ = command.parse_args(["nothing"])
    session = command._build_session(options)
    return command._build_package_finder(options, session)._link_collector


def fits(filename, name, version):
    """Is this a file of that version that could be installed by one of our Pythons?"""
    try:
        if not filename.endswith(".whl"):
            found, its_version = parse_sdist_filename(filename)
            return (found, its_version) == (canonicalize_name(name), Version(version))
        found, its_version, _, tags = parse_wheel_filename(filename)
    except ValueError:
        return False
    if (found, its_version) != (canonicalize_name(name), Version(version)):
        return False
    return any(
        PLATFORMS.search(tag.platform)
        and (PYTHONS.match(tag.interpreter) or tag.abi == "abi3")
        and not tag.abi.endswith("t")
        for tag in tags
    )


def hashes(ask, name, version):
    """The SHA-256 of each file, in order."""
    found = set()
    for place in ask.search_scope.get_index_urls_locations(name):
        page = ask.fetch_response(Link(place))
        for link in parse_links(page) if page is not None else ():
            if fits(link.filename, name, version) and link.hash_name == "sha256":
                found.add(link.hash)
    return sorted(found)


def main():
    """Ask for all, and write the file."""
    ask, lines = collector(), []
    for name, version in pins():
        found = hashes(ask, name, version)
        if not found:
            sys.exit(f"error: the index has no file of {name} {version}\n  fix: change its version")
        lines.append(
            " \\\n    ".join([f"{name}=={version}", *(f"--hash=sha256:{each}" for each in found)])
        )
        print(f"{name} {version}: {len(found)} files")
    LOCK.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
