"""Gather the files of an .mcpb bundle in a folder, for `mcpb pack`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
_FILES = ["src", "docs", "scripts", "pyproject.toml", "README.md", "LICENSE"]
_IGNORED = shutil.ignore_patterns("__pycache__", "*.egg-info", "handbook.zim")


def gather(target: Path) -> None:
    """Copy the manifest and the source of the package into a new folder."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name in ("manifest.json", "icon.png"):
        shutil.copy(ROOT / "bundle" / name, target)
    for name in _FILES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=_IGNORED)
        else:
            shutil.copy(source, target)


if __name__ == "__main__":
    gather(Path(sys.argv[1]))
