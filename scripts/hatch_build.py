"""The build step that puts the handbook into the package."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class HandbookHook(BuildHookInterface[Any]):
    """Builds `data/handbook.zim` before the wheel is packed, and for an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Build the handbook where the docs are at hand."""
        root = Path(self.root)
        sys.path.insert(0, str(root / "scripts"))
        import handbook  # noqa: PLC0415

        handbook.build(root / "docs", root / "src/openzim_mcp/data/handbook.zim")
