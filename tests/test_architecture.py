"""The folders are the architecture: imports point down, and each foreign library has one owner."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
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
    {"web"},
    {"protocol"},
    {"api"},
    {"app"},
    {"pool"},
    {"library"},
    {"worker"},
    {"calls", "page_index"},
    {"addresses"},
    {"cursors", "uris", "zimfile"},
    {"logs", "server_state", "telemetry"},
    {"config"},
    {"config_errors"},
    {"errors", "files", "languages", "text", "token_bucket", "tokens"},
    {"__init__"},
]
# A folder owns a library for all of its modules.
OWNERS = {
    "libzim": {"worker/zim/"},
    "mcp": {"http/", "protocol/"},
    "mcp_types": {"http/", "protocol/"},
    "pydantic": {"config.py", "config_errors.py", "http/app.py", "app/", "protocol/", "web/"},
    "click": {"cli/"},
    "httpcore2": {"catalog/client.py"},
    "httpx2": {"catalog/client.py"},
    "platformdirs": {"files.py"},
    "rich": {"cli/terminal.py"},
    "Stemmer": {"worker/search/language.py"},
    "selectolax": {"worker/readers/html/"},
    "pypdfium2": {"worker/readers/pdf/file.py"},
    "pydantic_settings": {"config.py"},
    "cachetools": {
        "http/",
        "app/limits.py",
        "library/facts.py",
        "pool/results.py",
        "worker/archive/browse.py",
        "worker/page_timer.py",
        "worker/path_blocks.py",
        "worker/reading/article.py",
        "worker/reading/long_documents.py",
        "worker/search/candidates.py",
        "worker/search/index_blocks.py",
        "worker/search/spelling.py",
        "worker/search/vocabulary.py",
        "worker/search/word_search.py",
        "worker/zim/search_indexes.py",
    },
    "jwt": {"http/oauth.py"},
    "redis": {"http/redis_limits.py"},
    "opentelemetry": {"telemetry.py"},
    "prometheus_client": {"http/metrics.py"},
    "starlette": {"server.py", "http/", "web/"},
    "jinja2": {"web/templates.py"},
    "markupsafe": {"web/"},
    "uvicorn": {"http/serve.py", "http/connections.py"},
    "anyio": {"api.py", "server.py", "http/", "pool/", "cli/", "app/", "protocol/"},
}


@cache
def imports(path: Path) -> frozenset[str]:
    """The modules that a file imports, also inside functions and for type checking only."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)


def module_name(path: Path) -> str:
    parts = ("openzim_mcp", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(part for part in parts if part != "__init__")


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


def test_worker_code_is_not_async() -> None:
    for path in (SOURCE / "worker").rglob("*.py"):
        tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        assert not any(isinstance(node, ast.AsyncFunctionDef | ast.Await) for node in tree), path


def loaded_by(module: str) -> set[str]:
    code = f"import sys, {module}; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_commands_load_neither_the_sdk_nor_libzim() -> None:
    modules = ", ".join(f"openzim_mcp.cli.{path.stem}" for path in (SOURCE / "cli").glob("[a-z]*.py"))

    assert not {"mcp", "mcp_types", "libzim", "pydantic", "rich"} & loaded_by(modules)


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_only_the_worker_imports_worker_code(path: Path) -> None:
    is_worker = path.relative_to(SOURCE).parts[0] == "worker"

    assert is_worker or not any(name.startswith("openzim_mcp.worker") for name in imports(path))


def test_server_process_loads_no_worker_code() -> None:
    loaded = loaded_by("openzim_mcp.server, openzim_mcp.http.app, openzim_mcp.http.serve")

    assert not {"libzim", "selectolax", "Stemmer"} & loaded
    assert not {name for name in loaded if name.startswith("openzim_mcp.worker")}


def test_app_needs_no_front_end_library() -> None:
    users = {name.split(".")[0] for path in (SOURCE / "app").rglob("*.py") for name in imports(path)}

    assert not {"mcp", "mcp_types", "click", "rich", "starlette", "uvicorn"} & users


def test_page_and_api_need_no_sdk() -> None:
    users = {name for path in (SOURCE / "web").rglob("*.py") for name in imports(path)}

    assert not {"mcp", "mcp_types", "openzim_mcp.protocol", "openzim_mcp.http"} & {
        part for name in users for part in (name.split(".")[0], ".".join(name.split(".")[:2]))
    }


def test_worker_loads_neither_the_sdk_nor_pydantic() -> None:
    modules = sorted(module_name(path) for path in (SOURCE / "worker").rglob("[a-z]*.py"))

    loaded = loaded_by(", ".join(modules))

    assert not {"mcp", "pydantic", "anyio"} & loaded


def test_no_module_is_in_an_import_cycle() -> None:
    names = {module_name(path): path for path in MODULES}
    edges = {name: imports(path) & names.keys() - {name} for name, path in names.items()}
    while free := [name for name, targets in edges.items() if not targets]:
        for name in free:
            del edges[name]
        edges = {name: targets - set(free) for name, targets in edges.items()}

    assert not edges, f"in a cycle, or importing one that is: {sorted(edges)}"


def test_broad_except_is_used_only_where_errors_are_logged() -> None:
    broad = [path for path in MODULES if "except Exception" in path.read_text(encoding="utf-8")]

    assert {path.relative_to(SOURCE).as_posix() for path in broad} == {
        "app/watch.py",
        "protocol/errors.py",
        "worker/main.py",
    }


def test_no_module_has_a_catch_all_name() -> None:
    assert not {"utils", "common", "helpers", "constants", "misc"} & {path.stem for path in MODULES}
