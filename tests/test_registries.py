"""What registries read: server.json, the label of the image, the line in the README, glama.json, llms.txt."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

ROOT = Path(__file__).parent.parent
ENTRY: dict[str, Any] = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
SCHEMA = json.loads((ROOT / "tests/data/server.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
LLMS_TXT = (ROOT / "docs/llms.txt").read_text(encoding="utf-8")


def test_registry_entry_fits_the_schema() -> None:
    VALIDATOR.check_schema(SCHEMA)
    VALIDATOR.validate(ENTRY)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "openzim-mcp"},
        {"description": "x" * 101},
        {"version": "^1.0.0"},
        {"icons": [{"src": "http://insecure.example/icon.png"}]},
        {"packages": [ENTRY["packages"][0] | {"version": "0.1.0"}]},
        {"packages": [{"registryType": "mcpb", "identifier": "https://x.example", "transport": {"type": "stdio"}}]},
    ],
)
def test_schema_refuses_what_the_registry_refuses(change: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid(ENTRY | change)


def test_published_entry_has_the_image_and_the_bundle(tmp_path: Path) -> None:
    bundle, target = tmp_path / "openzim-mcp.mcpb", tmp_path / "server.json"
    bundle.write_bytes(b"a bundle")

    subprocess.run([sys.executable, str(ROOT / "scripts/registry_entry.py"), bundle, target], check=True)

    entry = json.loads(target.read_text(encoding="utf-8"))
    VALIDATOR.validate(entry)
    assert [package["registryType"] for package in entry["packages"]] == ["oci", "mcpb"]
    assert entry["packages"][1]["fileSha256"] == hashlib.sha256(b"a bundle").hexdigest()


def test_readme_and_image_carry_the_name() -> None:
    name = re.escape(ENTRY["name"])

    assert re.search(rf"<!-- mcp-name: {name} -->", (ROOT / "README.md").read_text(encoding="utf-8"))
    label = rf'^LABEL io\.modelcontextprotocol\.server\.name="{name}"'
    assert re.search(label, (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)


def test_icon_has_the_size_that_is_told() -> None:
    (icon,) = ENTRY["icons"]
    picture = (ROOT / icon["src"].partition("/main/")[2]).read_bytes()

    assert picture.startswith(b"\x89PNG")
    assert f"{int.from_bytes(picture[16:20])}x{int.from_bytes(picture[20:24])}" in icon["sizes"]


def test_glama_entry_names_maintainers() -> None:
    entry = json.loads((ROOT / "glama.json").read_text(encoding="utf-8"))

    assert entry["$schema"] == "https://glama.ai/mcp/schemas/server.json"
    assert set(entry) == {"$schema", "maintainers"}
    assert all(re.fullmatch(r"[A-Za-z0-9-]{1,39}", name) for name in entry["maintainers"])


def test_llms_txt_introduces_every_page_of_the_docs() -> None:
    title, _, summary, *_ = LLMS_TXT.splitlines()
    links = re.findall(r"^- \[[^\]]+\]\(([^)]+)\): \S.*$", LLMS_TXT, re.MULTILINE)

    assert title.startswith("# ")
    assert summary.startswith("> ")
    assert sorted(links) == sorted(page.name for page in (ROOT / "docs").glob("*.md"))
