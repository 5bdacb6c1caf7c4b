"""The security border: directories in, archives out.

A name from a caller is only compared with the results of a scan of the allowed directories; it is never used as a path.
"""

from __future__ import annotations

import dataclasses
import importlib.resources
import os
import string
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from openzim_mcp.library.facts import FactStore
from openzim_mcp.library.names import archive_not_found, candidate_names, match_archive
from openzim_mcp.text import safe_line
from openzim_mcp.zimfile import ArchiveFile, check_header, stat_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from openzim_mcp.config import Settings
    from openzim_mcp.zimfile import FileState

_MAX_DEPTH = 100
"""Deeper than people make folders; a link that leads in a circle is recognised before."""
_SCAN_TTL_SECONDS = 1.0
_FIRST_PART_SUFFIX = ".zimaa"
_DOWNLOAD_SUFFIX = ".aria2"
_LINK_OUT = "symbolic link that leaves the allowed directories"
_HOW_TO_FOLLOW = "; --follow-links (OPENZIM_MCP_FOLLOW_LINKS=true) follows it"


def make_scanner(settings: Settings, facts: FactStore | None = None) -> Scanner:
    """Return a scanner of the directories of the settings; without an archive in the library, of the handbook."""
    fallback = None if settings.allowed_directories else handbook_path()
    return Scanner(settings.served_directories, facts, follow_links=settings.follow_links, fallback=fallback)


def handbook_path() -> str:
    """Return the path of the archive that ships with the package."""
    return str(importlib.resources.files("openzim_mcp").joinpath("data", "handbook.zim"))


@dataclass(frozen=True)
class Rejected:
    """Something in an allowed directory that is not served, and why."""

    name: str
    reason: str
    is_directory: bool = False


@dataclass(frozen=True)
class ScanResult:
    """The archives and rejected files of one scan."""

    archives: tuple[ArchiveFile, ...]
    rejected: tuple[Rejected, ...]
    directories_accessible: int
    is_handbook: bool = False
    """Whether the handbook is served, as there is no archive in the library."""


@dataclass
class _DirectoryWalk:
    """The state of one walk over the allowed directories, given by their real paths."""

    roots: Sequence[str]
    follow_links: bool = False
    files: dict[str, str] = field(default_factory=dict)
    """The real path of each archive, by the path where the walk came across it."""
    followed: set[str] = field(default_factory=set)
    """The paths of links in the allowed directories themselves that lead to files outside."""
    downloads: set[str] = field(default_factory=set)
    """The real paths of unfinished downloads: aria2 keeps a control file next to each."""
    rejected: list[Rejected] = field(default_factory=list)
    accessible: int = 0
    _visited: set[tuple[int, int]] = field(default_factory=set)

    def is_inside(self, path: str) -> bool:
        """Return whether a resolved path stays inside an allowed directory."""
        return any(
            path == root
            or path.startswith(os.path.join(root, ""))
            or (root.endswith(_FIRST_PART_SUFFIX) and path[:-2] == root[:-2])
            for root in self.roots
        )

    def reject(self, path: str, reason: str, *, is_directory: bool = False) -> None:
        """Record something that is not served, by its bare name."""
        self.rejected.append(Rejected(_visible_name(path), reason, is_directory))

    def add_file(self, path: str) -> None:
        """Collect an allowed path that is itself an archive."""
        self.files[path] = path
        self.accessible += 1
        if _is_downloading(path):
            self.downloads.add(path)

    def walk(self, directory: str, depth: int = 0) -> None:
        """Collect the archives of a directory and those below it."""
        if depth > _MAX_DEPTH:
            self.reject(directory, f"a folder below {_MAX_DEPTH} others is not scanned", is_directory=True)
            return
        try:
            with os.scandir(directory) as entries:
                children = sorted(entries, key=lambda entry: entry.name)
            status = os.stat(directory)
        except OSError as error:
            self.reject(directory, f"directory cannot be read: {error.strerror}", is_directory=True)
            return
        self.accessible += depth == 0
        if (status.st_dev, status.st_ino) in self._visited:
            return
        self._visited.add((status.st_dev, status.st_ino))
        for child in children:
            self._visit(child, depth)

    def _visit(self, child: os.DirEntry[str], depth: int) -> None:
        if child.name.startswith("."):
            return
        if child.name.endswith(_DOWNLOAD_SUFFIX):
            self.downloads.add(child.path.removesuffix(_DOWNLOAD_SUFFIX))
            return
        try:
            is_archive = child.name.endswith(_FIRST_PART_SUFFIX) or child.name.lower().endswith(".zim")
            is_directory = child.is_dir()
            if not is_archive and not is_directory:
                return
            is_link = child.is_symlink()
            real_path = os.path.realpath(child.path) if is_link else child.path
            if not _is_utf8(real_path):
                self.reject(child.path, "its name is not UTF-8, so it cannot be opened; rename it")
            elif is_link and not self.is_inside(real_path):
                self._visit_link_out(child, real_path, depth)
            elif is_directory:
                self.walk(real_path, depth + 1)
            elif is_archive and child.is_file():
                self.files[child.path] = real_path
            elif is_archive and not is_directory:
                self.reject(child.path, "not a regular file, or a broken link")
        except OSError as error:
            self.reject(child.path, f"cannot be read: {error.strerror}")

    def _visit_link_out(self, child: os.DirEntry[str], real_path: str, depth: int) -> None:
        """Follow a link if the user allowed it: only from a directory that was named, and only to a regular file."""
        if child.is_dir():
            self.reject(child.path, f"{_LINK_OUT}; name its target to serve it")
        elif depth or not child.is_file():
            self.reject(child.path, _LINK_OUT)
        elif not self.follow_links:
            self.reject(child.path, _LINK_OUT + _HOW_TO_FOLLOW)
        else:
            self.files[child.path] = real_path
            self.followed.add(child.path)


class Scanner:
    """Scans the allowed directories for archives; while they have none, the `fallback` is served, if there is one."""

    def __init__(
        self,
        directories: Iterable[str | os.PathLike[str]],
        facts: FactStore | None = None,
        *,
        follow_links: bool = False,
        fallback: str | None = None,
    ) -> None:
        self._directories = [os.path.abspath(directory) for directory in directories]
        self._follow_links = follow_links
        self._fallback = fallback
        self._facts = facts or FactStore()
        self._latest: ScanResult | None = None
        self._scanned_at = 0.0
        self._lock = threading.Lock()

    @property
    def display_directories(self) -> list[str]:
        """The directories as results show them."""
        is_handbook = self._fallback and self._recent_scan().is_handbook
        served = [self._fallback] if is_handbook else list(self._real_paths().values())
        return [f"...{safe_line(os.path.basename(str(path)), 200)}" for path in served]

    def scan(self) -> ScanResult:
        """Scan the directories now."""
        with self._lock:
            self._latest = self._scan(list(self._real_paths().values()))
            if self._fallback and not self._latest.archives:
                is_there = any(map(os.path.lexists, self._directories))
                rejected = self._latest.rejected if is_there else ()
                self._latest = dataclasses.replace(self._scan([self._fallback]), rejected=rejected, is_handbook=True)
            self._facts.retain({archive.identity for archive in self._latest.archives})
            self._scanned_at = time.monotonic()
            return self._latest

    def _scan(self, roots: list[str]) -> ScanResult:
        walk = _DirectoryWalk(roots, self._follow_links)
        for root in roots:
            if os.path.isfile(root):
                walk.add_file(root)
            elif os.path.lexists(root):
                walk.walk(root)
            else:
                walk.reject(root, "does not exist; it is served as soon as it appears", is_directory=True)
        archives = sorted(self._collect_archives(walk), key=lambda archive: archive.name)
        return ScanResult(tuple(archives), tuple(walk.rejected), walk.accessible)

    def _real_paths(self) -> dict[str, str]:
        """Return the real path of each directory; a disk that was not there may be mounted by now."""
        return {directory: os.path.realpath(directory) for directory in self._directories}

    def find_archive(self, reference: str | None) -> ArchiveFile:
        """Return the archive that a caller means, with its present identity; without a reference, the only one."""
        name = self._to_real_path(reference) if reference else None
        archive = match_archive(self._recent_scan().archives, name) or match_archive(self.scan().archives, name)
        if archive is None:
            raise archive_not_found(self._recent_scan().archives, reference)
        try:
            state = stat_parts(archive.parts)
        except OSError:
            raise archive_not_found(self.scan().archives, reference) from None
        if state.identity == archive.identity:
            return archive
        is_downloading = _is_downloading(archive.parts[0])
        return self._make_archive(archive.name, archive.path, archive.parts, state, is_downloading=is_downloading)

    def _to_real_path(self, reference: str) -> str:
        """Spell a path below an allowed directory as a scan does; the disk is not asked about it."""
        path = os.path.normpath(reference)
        for directory, real_path in self._real_paths().items():
            if path == directory or path.startswith(os.path.join(directory, "")):
                return real_path + path[len(directory) :]
        return reference

    def _recent_scan(self) -> ScanResult:
        if self._latest is None or time.monotonic() - self._scanned_at > _SCAN_TTL_SECONDS:
            return self.scan()
        return self._latest

    def _collect_archives(self, walk: _DirectoryWalk) -> Iterator[ArchiveFile]:
        """Yield each file under a unique name; of files with the same name, the first keeps it."""
        names: set[str] = set()
        for path, real_path in walk.files.items():
            name = next(candidate for candidate in candidate_names(path) if candidate not in names)
            names.add(name)
            is_followed = path in walk.followed
            # The parts of a followed link are links beside it: the directory that it leads to was not named.
            parts = (real_path, *_list_parts(path if is_followed else real_path)[1:])
            if not (is_followed or all(walk.is_inside(part) for part in parts[1:])):
                walk.reject(path, "a part of it is a symbolic link that leaves the allowed directories")
                continue
            try:
                state = stat_parts(parts)
            except OSError as error:
                walk.reject(path, f"cannot be read: {error.strerror}")
                continue
            yield self._make_archive(name, path, parts, state, is_downloading=parts[0] in walk.downloads)

    def _make_archive(
        self, name: str, path: str, parts: tuple[str, ...], state: FileState, *, is_downloading: bool
    ) -> ArchiveFile:
        """Describe a file; its header is read once for each state of it."""
        facts = self._facts.of(state.identity)
        if facts.header is None or facts.header.is_growing:
            facts.header = check_header(parts, state.modified)
        problem = "still being downloaded" if is_downloading else facts.header.problem
        return ArchiveFile(name, path, parts, *state, uuid=facts.header.uuid, problem=problem)


def _is_utf8(path: str) -> bool:
    """Return whether libzim, which takes text, can open a path; other bytes of a name are halves of characters here."""
    return path.isascii() or not any("\ud800" <= character <= "\udfff" for character in path)


def _visible_name(path: str) -> str:
    """Return the name of a file with its bytes that are not UTF-8 as escapes."""
    return safe_line(os.fsencode(os.path.basename(path)).decode(errors="backslashreplace"), 200)


def _is_downloading(path: str) -> bool:
    return os.path.exists(path + _DOWNLOAD_SUFFIX)


def _list_parts(path: str) -> tuple[str, ...]:
    """Return the real paths of the parts of a file: several if it is split into `.zimaa`, `.zimab` and so on."""
    if not path.endswith(_FIRST_PART_SUFFIX):
        return (path,)
    letters = string.ascii_lowercase
    part_paths = [f"{path[:-2]}{first}{second}" for first in letters for second in letters]
    count = next((number for number, part in enumerate(part_paths) if not os.path.isfile(part)), len(part_paths))
    return tuple(os.path.realpath(part) for part in part_paths[:count])
