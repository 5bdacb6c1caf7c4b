"""The skills that are part of the package: folders of instructions that a client loads when a task needs them."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import cache

SKILL_FILE = "SKILL.md"
_DIRECTORY = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data", "skills")
_PREFIX = "skill://"
_FENCE = "---"


@dataclass(frozen=True)
class SkillFile:
    """A file of a skill; `path` is relative to its folder, with slashes."""

    path: str
    content: bytes

    @property
    def digest(self) -> str:
        """The digest of the bytes, as manifests write it."""
        return f"sha256:{hashlib.sha256(self.content).hexdigest()}"


@dataclass(frozen=True)
class Skill:
    """A skill: the header of its `SKILL.md`, and all its files, that one first."""

    header: dict[str, str]
    files: tuple[SkillFile, ...]

    @property
    def name(self) -> str:
        """The name of the skill and of its folder."""
        return self.header["name"]

    @property
    def uri(self) -> str:
        """The URI of its `SKILL.md`."""
        return self.file_uri(self.files[0])

    def file_uri(self, file: SkillFile) -> str:
        """Return the URI of one of its files."""
        return f"{_PREFIX}{self.name}/{file.path}"


@cache
def load_skills() -> tuple[Skill, ...]:
    """Return the skills of the package."""
    return tuple(_load_skill(os.path.join(_DIRECTORY, name)) for name in sorted(os.listdir(_DIRECTORY)))


def find_file(uri: str) -> SkillFile | None:
    """Return the file of a skill that a URI names."""
    files = {skill.file_uri(file): file for skill in load_skills() for file in skill.files}
    return files.get(uri)


def is_skill_uri(uri: str) -> bool:
    """Return whether a text has the scheme of the files of skills."""
    return uri.lower().startswith(_PREFIX)


def _load_skill(folder: str) -> Skill:
    paths = [
        os.path.relpath(os.path.join(parent, name), folder) for parent, _, names in os.walk(folder) for name in names
    ]
    paths.sort(key=lambda path: (path != SKILL_FILE, path))
    files = tuple(SkillFile(path.replace(os.sep, "/"), _read_lines(os.path.join(folder, path))) for path in paths)
    return Skill(_parse_header(files[0].content.decode()), files)


def _read_lines(path: str) -> bytes:
    """Return a text file with the line ends of the repository: a checkout on Windows may have changed them."""
    with open(path, "rb") as file:
        return file.read().replace(b"\r\n", b"\n")


def _parse_header(text: str) -> dict[str, str]:
    """Return the front matter: lines of a key and a plain text, which is all that our skills use of YAML."""
    lines = text.split("\n")
    end = lines.index(_FENCE, 1)
    return {key: value.strip() for key, _, value in (line.partition(":") for line in lines[1:end])}
