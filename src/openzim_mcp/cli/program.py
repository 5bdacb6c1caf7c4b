"""How this program was installed, and the commands that start it or install it again.

The name on PyPI belongs to another project, so no command here lets an installer look there.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shlex
import shutil
import sys
from urllib.parse import urlsplit
from urllib.request import url2pathname

from openzim_mcp import errors

_PROGRAM = "openzim-mcp"
_DISTRIBUTION = "openzim-mcp"
# Environments that `uvx` and `pipx run` keep in a cache: whoever cleans it removes the program.
_UV_CACHE = re.compile(r"[\\/](?:archive|environments|builds)-v\d+[\\/]")
_PIPX_CACHE = re.compile(r"[\\/]pipx[\\/]\.cache[\\/]|[\\/]\.?[Cc]aches?[\\/]pipx[\\/]")


def server_command(arguments: list[str]) -> list[str]:
    """Return a command that starts this program from any directory and without its PATH, as clients do."""
    cached = cached_command(sys.prefix, installation_source())
    if cached:
        return [*cached, *arguments]
    name = f"{_PROGRAM}.exe" if os.name == "nt" else _PROGRAM
    script = os.path.join(os.path.dirname(sys.executable), name)
    path = script if os.path.exists(script) else shutil.which(_PROGRAM)
    program = [os.path.abspath(path)] if path else [sys.executable, "-m", "openzim_mcp"]
    return [*program, *arguments]


def cached_command(prefix: str, source: str | None) -> list[str] | None:
    """Return a command that installs the program again if its cache was cleaned; None if `prefix` is not a cache."""
    launchers = {
        "uvx": (_UV_CACHE, ["--from"]),
        "pipx": (_PIPX_CACHE, ["run", "--spec"]),
    }
    for name, (cache, options) in launchers.items():
        if not cache.search(os.path.join(prefix, "")):
            continue
        launcher = shutil.which(name)
        if source and launcher:
            return [launcher, *options, source, _PROGRAM]
        raise errors.OpenZimMcpConfigurationError(
            f"This program runs from the cache of {name}, which may be cleaned at any time.",
            hint="Install it, and connect again: uv tool install SOURCE, or pipx install SOURCE",
        )
    return None


def installation_source() -> str | None:
    """Return the path or URL that this program was installed from (PEP 610), if that is recorded."""
    try:
        text = importlib.metadata.distribution(_DISTRIBUTION).read_text("direct_url.json")
        record = json.loads(text or "null")
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return None
    return _source_of_record(record) if isinstance(record, dict) else None


def _source_of_record(record: dict[str, object]) -> str | None:
    url = str(record.get("url") or "")
    vcs = record.get("vcs_info")
    if isinstance(vcs, dict):
        revision = vcs.get("requested_revision") or vcs.get("commit_id")
        return f"{vcs.get('vcs', 'git')}+{url}" + (f"@{revision}" if revision else "")
    parts = urlsplit(url)
    return url2pathname(parts.path) if parts.scheme == "file" else url or None


def reinstall_command() -> str:
    """Return the command that installs this program again, with the installer that it came from."""
    source = shlex.quote(installation_source() or ".")
    prefix = os.path.join(sys.prefix, "")
    if os.path.join("uv", "tools", "") in prefix:
        command = f"uv tool install --force {source}"
    elif os.path.join("pipx", "venvs", "") in prefix:
        command = f"pipx install --force {source}"
    else:
        command = f"{shlex.quote(sys.executable)} -m pip install --force-reinstall {source}"
    return command if installation_source() else f"in a clone of the repository: {command}"
