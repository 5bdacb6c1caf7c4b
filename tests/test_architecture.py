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
    {"catalog"},
    {"server"},
    {"http"},
    {"protocol"},
    {"app"},
    {"pool"},
    {"library"},
    {"worker"},
    {"calls"},
    {"cursors", "uris", "zimfile"},
    {"logs", "telemetry"},
    {"config"},
    {"config_errors"},
    {"errors", "files", "languages", "text", "token_bucket", "tokens"},
    {"__init__"},
]
# Modules that still import from a layer above them; they leave this list as calls become typed.
PENDING = {
    "app/health.py",
    "app/query/ask.py",
    "app/reading.py",
    "app/search.py",
    "cursors.py",
    "worker/archive/health.py",
    "worker/reading/resolve.py",
    "worker/search/answer.py",
    "worker/search/fulltext.py",
    "worker/search/survey.py",
    "worker/search/titles.py",
}
# A folder owns a library for all of its modules.
OWNERS = {
    "libzim": {"worker/zim.py"},
    "mcp": {"server.py", "http/", "protocol/"},
    "mcp_types": {"server.py", "http/", "protocol/"},
    "pydantic": {"config.py", "config_errors.py", "http/app.py", "app/", "protocol/"},
    "click": {"cli/"},
    "httpcore2": {"catalog/client.py"},
    "httpx2": {"catalog/client.py"},
    "platformdirs": {"files.py"},
    "rich": {"cli/terminal.py"},
    "Stemmer": {"worker/search/language.py"},
    "selectolax": {"worker/readers/html/"},
    "pydantic_settings": {"config.py"},
    "cachetools": {"http/", "app/"},
    "jwt": {"http/oauth.py"},
    "redis": {"http/redis_limits.py"},
    "opentelemetry": {"telemetry.py"},
    "prometheus_client": {"http/metrics.py"},
    "starlette": {"server.py", "http/"},
    "uvicorn": {"http/serve.py", "http/connections.py"},
    "anyio": {"server.py", "http/", "pool/", "cli/", "app/", "protocol/"},
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

    assert upward == set() or path.relative_to(SOURCE).as_posix() in PENDING


@pytest.mark.parametrize("library", sorted(OWNERS))
def test_each_library_has_its_owners(library: str) -> None:
    users = {
        path.relative_to(SOURCE).as_posix()
        for path in MODULES
        if any(name.split(".")[0] == library for name in imports(path))
    }
    folders = {owner for owner in OWNERS[library] if owner.endswith("/")}

    assert {next((f for f in folders if user.startswith(f)), user) for user in users} == OWNERS[library]


def test_worker_code_is_not_async() -> None:
    for path in (SOURCE / "worker").rglob("*.py"):
        tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        assert not any(isinstance(node, ast.AsyncFunctionDef | ast.Await) for node in tree), path


def loaded_by(module: str) -> set[str]:
    code = f"import sys, {module}; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_commands_do_without_the_sdk_and_libzim() -> None:
    modules = ", ".join(f"openzim_mcp.cli.{path.stem}" for path in (SOURCE / "cli").glob("[a-z]*.py"))

    assert not {"mcp", "mcp_types", "libzim", "pydantic", "rich"} & loaded_by(modules)


def test_the_server_process_never_loads_libzim() -> None:
    assert "libzim" not in loaded_by("openzim_mcp.server")


def test_a_worker_loads_neither_the_sdk_nor_pydantic() -> None:
    modules = sorted(
        ".".join(("openzim_mcp", *path.relative_to(SOURCE).with_suffix("").parts))
        for path in (SOURCE / "worker").rglob("[a-z]*.py")
    )

    loaded = loaded_by(", ".join(modules))

    assert not {"mcp", "pydantic", "anyio"} & loaded


def test_broad_except_is_used_only_where_errors_are_logged() -> None:
    broad = [path for path in MODULES if "except Exception" in path.read_text(encoding="utf-8")]

    assert {path.relative_to(SOURCE).as_posix() for path in broad} == {
        "app/watch.py",
        "protocol/errors.py",
        "worker/main.py",
    }


def test_no_drawer_for_odds_and_ends() -> None:
    assert not {"utils", "common", "helpers", "constants", "misc"} & {path.stem for path in MODULES}
