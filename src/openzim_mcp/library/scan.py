"""The security border: directories in, archives out.

A name from outside is only ever compared with what a scan of the allowed directories found; it never becomes a path.
"""

from __future__ import annotations

import importlib.resources
import itertools
import os
import re
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from openzim_mcp import errors
from openzim_mcp.library.facts import FactStore
from openzim_mcp.library.names import split_date
from openzim_mcp.text import closest, safe_line
from openzim_mcp.zimfile import ArchiveFile, check_header, stat_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from openzim_mcp.zimfile import FileState

_DEPTH = 8
_FRESH_SECONDS = 1.0
_LISTED_IN_ERRORS = 50
_FIRST_PART = ".zimaa"
_DOWNLOADING = ".aria2"
_EXTENSION = re.compile(r"\.zim(aa)?$", re.IGNORECASE)


def handbook() -> str:
    """Return the archive that ships with the package."""
    return str(importlib.resources.files("openzim_mcp").joinpath("data", "handbook.zim"))


@dataclass(frozen=True)
class Rejected:
    """Something in an allowed directory that is not served, and why."""

    name: str
    reason: str
    is_directory: bool = False


@dataclass(frozen=True)
class ScanResult:
    """What one scan found."""

    archives: tuple[ArchiveFile, ...]
    rejected: tuple[Rejected, ...]
    directories_accessible: int


@dataclass
class _Scan:
    """The state of one walk over the directories."""

    roots: Sequence[str]
    files: dict[str, str] = field(default_factory=dict)
    """Where each archive was seen, and its real path."""
    downloads: set[str] = field(default_factory=set)
    """The real paths of files that a downloader has not finished, as it notes in a file beside them."""
    rejected: list[Rejected] = field(default_factory=list)
    accessible: int = 0
    _seen: set[tuple[int, int]] = field(default_factory=set)

    def inside(self, path: str) -> bool:
        """Return whether a resolved path stays inside an allowed directory."""
        return any(
            path == root
            or path.startswith(os.path.join(root, ""))
            or (root.endswith(_FIRST_PART) and path[:-2] == root[:-2])
            for root in self.roots
        )

    def reject(self, path: str, reason: str, *, is_directory: bool = False) -> None:
        """Report something that is not served, by its bare name."""
        self.rejected.append(Rejected(safe_line(os.path.basename(path), 200), reason, is_directory))

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
        if (status.st_dev, status.st_ino) in self._seen:
            return
        self._seen.add((status.st_dev, status.st_ino))
        for child in children:
            self._visit(child, depth)

    def _visit(self, child: os.DirEntry[str], depth: int) -> None:
        if child.name.startswith("."):
            return
        if child.name.endswith(_DOWNLOADING):
            self.downloads.add(child.path.removesuffix(_DOWNLOADING))
            return
        try:
            is_archive = child.name.endswith(_FIRST_PART) or child.name.lower().endswith(".zim")
            is_directory = child.is_dir()
            if not is_archive and not is_directory:
                return
            is_link = child.is_symlink()
            real = os.path.realpath(child.path) if is_link else child.path
            if is_link and not self.inside(real):
                self.reject(child.path, "symbolic link that leaves the allowed directories")
            elif is_directory and depth < _DEPTH:
                self.walk(real, depth + 1)
            elif is_archive and child.is_file():
                self.files[child.path] = real
            elif is_archive and not is_directory:
                self.reject(child.path, "not a regular file, or a link to nothing")
        except OSError as error:
            self.reject(child.path, f"cannot be read: {error.strerror}")


class Scanner:
    """The archives in the allowed directories, as they are now."""

    def __init__(self, directories: Iterable[str | os.PathLike[str]], facts: FactStore | None = None) -> None:
        self._given = {os.path.abspath(directory): os.path.realpath(directory) for directory in directories}
        self._roots = list(self._given.values())
        self._facts = facts or FactStore()
        self._latest: ScanResult | None = None
        self._scanned_at = 0.0
        self._lock = threading.Lock()

    @property
    def display_directories(self) -> list[str]:
        """The directories as results show them."""
        return [f"...{safe_line(os.path.basename(root), 200)}" for root in self._roots]

    def scan(self) -> ScanResult:
        """Look at the directories now."""
        with self._lock:
            scan = _Scan(self._roots)
            for root in self._roots:
                if os.path.isfile(root):
                    scan.files[root] = root
                    scan.accessible += 1
                    scan.downloads |= {root} if _is_downloading(root) else set()
                else:
                    scan.walk(root)
            archives = tuple(sorted(self._named(scan), key=lambda archive: archive.name))
            self._facts.retain({archive.identity for archive in archives})
            self._latest = ScanResult(archives, tuple(scan.rejected), scan.accessible)
            self._scanned_at = time.monotonic()
            return self._latest

    def find(self, reference: str | None) -> ArchiveFile:
        """Return the archive that a caller names, with its identity of this moment; the only one when none is named."""
        name = self._real(reference) if reference else None
        archive = _match(self._recent().archives, name) or _match(self.scan().archives, name)
        if archive is None:
            raise _not_found(self._recent().archives, reference)
        try:
            state = stat_parts(archive.parts)
        except OSError:
            raise _not_found(self.scan().archives, reference) from None
        if state.identity == archive.identity:
            return archive
        is_downloading = _is_downloading(archive.parts[0])
        return self._archive(archive.name, archive.path, archive.parts, state, is_downloading=is_downloading)

    def _real(self, reference: str) -> str:
        """Spell a path below a directory as the scan does, without asking the disk about it."""
        path = os.path.normpath(reference)
        for given, real in self._given.items():
            if path == given or path.startswith(os.path.join(given, "")):
                return real + path[len(given) :]
        return reference

    def _recent(self) -> ScanResult:
        if self._latest is None or time.monotonic() - self._scanned_at > _FRESH_SECONDS:
            return self.scan()
        return self._latest

    def _named(self, scan: _Scan) -> Iterator[ArchiveFile]:
        """Give every file a name of its own; the first of several equal ones keeps it as it is."""
        taken: set[str] = set()
        for path, real in scan.files.items():
            name = next(n for n in _names(path) if n not in taken)
            taken.add(name)
            parts = _parts(real)
            if not all(scan.inside(part) for part in parts[1:]):
                scan.reject(path, "a part of it is a symbolic link that leaves the allowed directories")
                continue
            try:
                state = stat_parts(parts)
            except OSError as error:
                scan.reject(path, f"cannot be read: {error.strerror}")
                continue
            yield self._archive(name, path, parts, state, is_downloading=parts[0] in scan.downloads)

    def _archive(
        self, name: str, path: str, parts: tuple[str, ...], state: FileState, *, is_downloading: bool
    ) -> ArchiveFile:
        """Describe a file; its header is read once for each state of it."""
        facts = self._facts.of(state.identity)
        if facts.header is None or facts.header.is_growing:
            facts.header = check_header(parts, state.modified)
        problem = "still being downloaded" if is_downloading else facts.header.problem
        return ArchiveFile(name, path, parts, *state, uuid=facts.header.uuid, problem=problem)


def _names(path: str) -> Iterator[str]:
    """Yield what an archive may be called, the plainest first."""
    directory, file = os.path.split(path)
    base = safe_line(_EXTENSION.sub("", file), 200)
    yield base
    folder = safe_line(os.path.basename(directory), 100)
    yield f"{base}@{folder}"
    yield from (f"{base}@{folder}~{n}" for n in itertools.count(2))


def _is_downloading(path: str) -> bool:
    return os.path.exists(path + _DOWNLOADING)


def _parts(path: str) -> tuple[str, ...]:
    """Return the real paths of the parts of a file: several where it is split into `.zimaa`, `.zimab` and so on."""
    if not path.endswith(_FIRST_PART):
        return (path,)
    letters = "abcdefghijklmnopqrstuvwxyz"
    names = [f"{path[:-2]}{a}{b}" for a in letters for b in letters]
    count = next((i for i, name in enumerate(names) if not os.path.exists(name)), len(names))
    return tuple(os.path.realpath(name) for name in names[:count])


def _match(archives: Sequence[ArchiveFile], reference: str | None) -> ArchiveFile | None:
    """Return the archive that is meant: by path, name, redacted path, or name without its date (the newest)."""
    if not reference:
        return archives[0] if len(archives) == 1 else None
    if os.path.isabs(reference):
        return next((a for a in archives if os.path.normpath(reference) in {a.path, a.parts[0]}), None)
    name = _EXTENSION.sub("", reference.strip().removeprefix("..."))
    for wanted in (lambda a: a.name == name, lambda a: a.name.casefold() == name.casefold()):
        found = next(filter(wanted, archives), None)
        if found:
            return found
    newest = newest_editions(a.name for a in archives).get(name.casefold())
    return next((a for a in archives if a.name == newest), None)


def newest_editions(names: Iterable[str]) -> dict[str, str]:
    """Return the newest of the names that differ only by their date, by the name without it, in lower case."""
    splits = ((name, *split_date(name)) for name in sorted(names))
    return {base.casefold(): name for name, base, date in splits if date}


def _not_found(archives: Sequence[ArchiveFile], reference: str | None) -> errors.ArchiveNotFound:
    names = [archive.file_name for archive in archives]
    details = {"available_archives": names[:_LISTED_IN_ERRORS]}
    if not names:
        return errors.ArchiveNotFound(
            "There is no archive to read.", hint="Put a .zim file into a served directory; it is found at once."
        )
    if not reference:
        return errors.ArchiveNotFound(
            f"Several archives are served ({len(names)}); name one.",
            hint=f"Pass zim_file_path, for example {names[0]!r}.",
            **details,
        )
    shown = safe_line(os.path.basename(reference), 100)
    close = closest(_EXTENSION.sub("", shown), (a.name for a in archives), cutoff=0.5)
    hint = f"Did you mean {close[0]!r}?" if close else "Use one of the names in available_archives."
    return errors.ArchiveNotFound(
        f"No archive {shown!r} in the served directories.", hint=hint, did_you_mean=close, **details
    )
