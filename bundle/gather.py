"""Gather what an .mcpb bundle holds in a folder, which `mcpb pack` then makes one file."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
_PARTS = ["src", "docs", "scripts", "pyproject.toml", "README.md", "LICENSE"]
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.egg-info", "handbook.zim")


def gather(target: Path) -> None:
    """Copy the manifest and the package's source into an empty folder."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    shutil.copy(ROOT / "bundle" / "manifest.json", target)
    for part in _PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, target / part, ignore=_LEFT_OUT)
        else:
            shutil.copy(source, target)


if __name__ == "__main__":
    gather(Path(sys.argv[1]))
