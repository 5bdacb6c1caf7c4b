"""The folders are the architecture: imports point down, and each foreign library has one owner."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "openzim_mcp"
MODULES = sorted(SOURCE.rglob("*.py"))

# A module may import from its own layer and from those below it.
LAYERS = [
    {"__main__", "cli"},
    {"commands"},
    {"shop"},
    {"server"},
    {"http"},
    {"protocol"},
    {"services"},
    {"archive"},
    {"content"},
    {"logs", "telemetry"},
    {"config"},
    {"bucket", "errors"},
    {"__init__"},
]
_SDK_USERS = {
    f"protocol/{name}.py"
    for name in ("border", "completions", "frames", "prompts", "record", "resources", "subscriptions", "tools")
}
# A folder owns a library for all of its modules.
OWNERS = {
    "libzim": {"archive/zim.py"},
    "mcp": {"server.py", "http/", *_SDK_USERS},
    "mcp_types": {"server.py", "http/", *_SDK_USERS},
    "pydantic": {
        "config.py",
        "http/app.py",
        "protocol/arguments.py",
        "protocol/asking.py",
        "protocol/finding.py",
        "protocol/frames.py",
        "protocol/retrieval.py",
        "protocol/tools.py",
    },
    "click": {"commands/"},
    "httpcore2": {"shop/network.py"},
    "httpx2": {"shop/network.py"},
    "platformdirs": {"archive/verdicts.py", "shop/catalogue.py"},
    "rich": {"commands/terminal.py"},
    "Stemmer": {"content/language.py"},
    "selectolax": {"content/blocks.py", "content/html.py", "content/inline.py", "content/tables.py"},
    "pydantic_settings": {"config.py"},
    "cachetools": {"http/", "protocol/backend.py", "protocol/limits.py"},
    "jwt": {"http/oauth.py"},
    "redis": {"http/shared.py"},
    "opentelemetry": {"telemetry.py"},
    "prometheus_client": {"http/metrics.py"},
    "starlette": {"server.py", "http/"},
    "uvicorn": {"http/listen.py", "http/patience.py"},
    "anyio": {
        "server.py",
        "http/",
        "archive/engine.py",
        "archive/verify.py",
        "commands/",
        "protocol/asking.py",
        "protocol/backend.py",
        "protocol/frames.py",
        "protocol/record.py",
        "protocol/health.py",
        "protocol/resources.py",
        "protocol/retrieval.py",
        "protocol/stdio.py",
        "protocol/subscriptions.py",
        "protocol/watcher.py",
    },
}


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def layer(name: str) -> int:
    return next(level for level, names in enumerate(LAYERS) if name in names)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path: Path) -> None:
    own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    ours = {name.split(".")[1] for name in imports(path) if name.startswith("openzim_mcp.")}
    known = {name for names in LAYERS for name in names}

    upward = {name for name in ours & known if layer(name) < layer(own)}

    assert upward == set()


@pytest.mark.parametrize("library", sorted(OWNERS))
def test_each_library_has_its_owners(library: str) -> None:
    users = {
        path.relative_to(SOURCE).as_posix()
        for path in MODULES
        if any(name.split(".")[0] == library for name in imports(path))
    }
    folders = {owner for owner in OWNERS[library] if owner.endswith("/")}

    assert {next((f for f in folders if user.startswith(f)), user) for user in users} == OWNERS[library]


def test_services_and_content_know_nothing_of_the_protocol_or_of_waiting() -> None:
    for folder in ("services", "content"):
        for path in (SOURCE / folder).glob("*.py"):
            tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            assert not any(isinstance(node, ast.AsyncFunctionDef | ast.Await) for node in tree), path


def loaded_by(module: str) -> set[str]:
    code = f"import sys, {module}; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_commands_do_without_the_sdk_and_libzim() -> None:
    modules = ", ".join(f"openzim_mcp.commands.{path.stem}" for path in (SOURCE / "commands").glob("[a-z]*.py"))

    assert not {"mcp", "mcp_types", "libzim", "pydantic", "rich"} & loaded_by(modules)


def test_the_server_process_never_loads_libzim() -> None:
    assert "libzim" not in loaded_by("openzim_mcp.server")


def test_a_worker_loads_neither_the_sdk_nor_pydantic() -> None:
    services = ", ".join(f"openzim_mcp.services.{path.stem}" for path in (SOURCE / "services").glob("[a-z]*.py"))

    loaded = loaded_by(f"openzim_mcp.worker.main, {services}")

    assert not {"mcp", "pydantic", "anyio"} & loaded


def test_everything_is_caught_in_two_places_at_most() -> None:
    broad = [path for path in MODULES if "except Exception" in path.read_text(encoding="utf-8")]

    assert {path.relative_to(SOURCE).as_posix() for path in broad} == {"archive/worker.py", "protocol/border.py"}


def test_no_drawer_for_odds_and_ends() -> None:
    assert not {"utils", "common", "helpers", "constants", "misc"} & {path.stem for path in MODULES}
