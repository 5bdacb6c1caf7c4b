"""Write the entry for the MCP registry: server.json, with the bundle that was packed and its SHA-256.

The bundle is known only when it is packed, so server.json itself lists the image, and a release publishes this file:
`python scripts/registry_entry.py dist/openzim-mcp.mcpb dist/server.json`.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


def add_bundle(entry: dict[str, Any], bundle: Path) -> dict[str, Any]:
    """Return an entry that also has a bundle, at the address where a release of this version puts it."""
    package = {
        "registryType": "mcpb",
        "identifier": f"{entry['repository']['url']}/releases/download/v{entry['version']}/{bundle.name}",
        "version": entry["version"],
        "fileSha256": hashlib.sha256(bundle.read_bytes()).hexdigest(),
        "transport": {"type": "stdio"},
    }
    return entry | {"packages": [*entry["packages"], package]}


def main() -> None:
    """Read server.json and a bundle, and write the entry."""
    bundle, target = map(Path, sys.argv[1:3])
    entry = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    target.write_text(json.dumps(add_bundle(entry, bundle), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
