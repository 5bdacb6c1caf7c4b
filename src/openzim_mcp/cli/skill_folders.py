"""The skills of this package as folders, where clients look for them."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from openzim_mcp import errors, files
from openzim_mcp.app.skills import load_skills
from openzim_mcp.cli import clients

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openzim_mcp.cli.clients import Client

_FILE_MODE = 0o644


def install_skills(client: Client, *, write: bool) -> list[str]:
    """Write the files of our skills into a client's folder; return the paths of those that are new or differ."""
    changed = []
    for path, content in _skill_files(client):
        if _read(path) != content:
            changed.append(path)
            if write:
                _write(path, content)
    return changed


def remove_skills(client: Client, *, write: bool) -> list[str]:
    """Remove the files of our skills, and their folders if nothing else is in them; return the paths of the files."""
    present = [path for path, _ in _skill_files(client) if os.path.isfile(path)]
    for path in reversed(present) if write else ():  # the file at the top of a skill comes last
        try:
            os.unlink(path)
        except OSError as error:
            raise errors.FileNotWritable(f"{path} cannot be removed: {error.strerror}") from error
        with contextlib.suppress(OSError):
            os.rmdir(os.path.dirname(path))
    return present


def _skill_files(client: Client) -> Iterator[tuple[str, bytes]]:
    """Yield the path in a client's folder and the content of each file of our skills."""
    directory = clients.find_skills_directory(client)
    if directory is None:
        names = ", ".join(row.name for row in clients.CLIENTS if row.skills_directory)
        raise errors.OpenZimMcpConfigurationError(
            f"{client.title} reads no skills from a folder.", hint=f"--skill works with: {names}."
        )
    for skill in load_skills():
        for file in skill.files:
            yield os.path.join(directory, skill.name, *file.path.split("/")), file.content


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _write(path: str, content: bytes) -> None:
    try:
        files.write_atomic(path, content, mode=_FILE_MODE)
    except OSError as error:
        raise errors.FileNotWritable(f"{path} cannot be written: {error.strerror}") from error
