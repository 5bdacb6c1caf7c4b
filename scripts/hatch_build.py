"""Hatch build hook that puts the handbook into the package."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class HandbookHook(BuildHookInterface[Any]):
    """Builds `data/handbook.zim` before a wheel or an editable install is made."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Build the handbook from the docs."""
        root = Path(self.root)
        sys.path.insert(0, str(root / "scripts"))
        import handbook  # noqa: PLC0415

        handbook.build_handbook(root / "docs", root / "src/openzim_mcp/data/handbook.zim")
