"""Check that the license of every package that is installed with the server is compatible with GPL-3.0-or-later.

`python scripts/licenses.py` reads the names in `deploy/runtime.lock` and asks the metadata of the installed packages.
A package with another license, or without one, is listed, and the exit code is 1.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

LOCK = Path(__file__).parent.parent / "deploy" / "runtime.lock"
_NAME = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==", re.MULTILINE)
# Names as they stand in SPDX expressions, in classifiers and in free text.
COMPATIBLE = re.compile(
    r"\b(MIT|BSD|0BSD|Apache|ISC|PSF|Python Software Foundation|MPL|Mozilla Public|LGPL|Lesser General Public|GPL"
    r"|GNU General Public|Unlicense|Zlib)\b",
    re.IGNORECASE,
)
INCOMPATIBLE = re.compile(r"\b(AGPL|Affero|Proprietary|Commercial|SSPL|BUSL|CC-BY-N[CD])\b", re.IGNORECASE)


def locked_names(lock: str) -> list[str]:
    """Return the names of the packages in a lock file."""
    return _NAME.findall(lock)


def license_of(package: Distribution) -> str:
    """Return what a package says of its license: an SPDX expression, else its classifiers, else its text."""
    metadata = package.metadata
    classifiers = [row.rpartition(" :: ")[2] for row in metadata.get_all("Classifier", []) if row.startswith("License")]
    fields = {name: str(metadata[name]) for name in ("License-Expression", "License") if name in metadata}
    text = fields.get("License-Expression") or "; ".join(classifiers) or fields.get("License", "")
    return text.strip().partition("\n")[0]


def find_problem(license_text: str) -> str | None:
    """Return why a license is not accepted; None if it is."""
    if not license_text:
        return "has no license in its metadata"
    if INCOMPATIBLE.search(license_text) or not COMPATIBLE.search(license_text):
        return f"has the license {license_text!r}"
    return None


def main() -> int:
    """Print the packages whose license is not accepted."""
    problems = []
    for name in locked_names(LOCK.read_text()):
        try:
            problem = find_problem(license_of(distribution(name)))
        except PackageNotFoundError:  # it is for another system
            continue
        problems += [f"{name} {problem}"] if problem else []
    print("\n".join(problems) or "All licenses are compatible.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
