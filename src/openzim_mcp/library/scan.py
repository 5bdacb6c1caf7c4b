"""The security border: directories in, archives out.

A name from a caller is only compared with the results of a scan of the allowed directories; it is never used as a path.
"""

from __future__ import annotations

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

    from openzim_mcp.zimfile import FileState

_MAX_DEPTH = 8
_SCAN_TTL_SECONDS = 1.0
_FIRST_PART_SUFFIX = ".zimaa"
_DOWNLOAD_SUFFIX = ".aria2"


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


@dataclass
class _DirectoryWalk:
    """The state of one walk over the allowed directories, given by their real paths."""

    roots: Sequence[str]
    files: dict[str, str] = field(default_factory=dict)
    """The real path of each archive, by the path where the walk came across it."""
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
        self.rejected.append(Rejected(safe_line(os.path.basename(path), 200), reason, is_directory))

    def add_file(self, path: str) -> None:
        """Collect an allowed path that is itself an archive."""
        self.files[path] = path
        self.accessible += 1
        if _is_downloading(path):
            self.downloads.add(path)

    def walk(self, directory: str, depth: int = 0) -> None:
        """Collect the archives of a directory and those below it."""
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
            if is_link and not self.is_inside(real_path):
                self.reject(child.path, "symbolic link that leaves the allowed directories")
            elif is_directory and depth < _MAX_DEPTH:
                self.walk(real_path, depth + 1)
            elif is_archive and child.is_file():
                self.files[child.path] = real_path
            elif is_archive and not is_directory:
                self.reject(child.path, "not a regular file, or a broken link")
        except OSError as error:
            self.reject(child.path, f"cannot be read: {error.strerror}")


class Scanner:
    """Scans the allowed directories for archives."""

    def __init__(self, directories: Iterable[str | os.PathLike[str]], facts: FactStore | None = None) -> None:
        self._real_paths = {os.path.abspath(directory): os.path.realpath(directory) for directory in directories}
        self._roots = list(self._real_paths.values())
        self._facts = facts or FactStore()
        self._latest: ScanResult | None = None
        self._scanned_at = 0.0
        self._lock = threading.Lock()

    @property
    def display_directories(self) -> list[str]:
        """The directories as results show them."""
        return [f"...{safe_line(os.path.basename(root), 200)}" for root in self._roots]

    def scan(self) -> ScanResult:
        """Scan the directories now."""
        with self._lock:
            walk = _DirectoryWalk(self._roots)
            for root in self._roots:
                if os.path.isfile(root):
                    walk.add_file(root)
                else:
                    walk.walk(root)
            archives = tuple(sorted(self._collect_archives(walk), key=lambda archive: archive.name))
            self._facts.retain({archive.identity for archive in archives})
            self._latest = ScanResult(archives, tuple(walk.rejected), walk.accessible)
            self._scanned_at = time.monotonic()
            return self._latest

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
        for directory, real_path in self._real_paths.items():
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
            parts = _list_parts(real_path)
            if not all(walk.is_inside(part) for part in parts[1:]):
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


def _is_downloading(path: str) -> bool:
    return os.path.exists(path + _DOWNLOAD_SUFFIX)


def _list_parts(path: str) -> tuple[str, ...]:
    """Return the real paths of the parts of a file: several if it is split into `.zimaa`, `.zimab` and so on."""
    if not path.endswith(_FIRST_PART_SUFFIX):
        return (path,)
    letters = string.ascii_lowercase
    part_paths = [f"{path[:-2]}{first}{second}" for first in letters for second in letters]
    count = next((number for number, part in enumerate(part_paths) if not os.path.exists(part)), len(part_paths))
    return tuple(os.path.realpath(part) for part in part_paths[:count])
