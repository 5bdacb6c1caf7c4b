"""Every error that a caller may see.

OpenZimMcpError
├── OpenZimMcpConfigurationError   a setting or a directory is wrong; the command ends with exit code 2
├── OpenZimMcpValidationError      an argument is wrong
│   ├── ArchiveNotFound            no such archive, or none given where there are several
│   ├── InvalidCursor              the cursor does not belong to this call
│   ├── AmbiguousEntry             several archives have the entry, and the call names none
│   ├── EntryNotFound              the archive has no such entry
│   ├── InvalidPathCombination     the call asks for several things at once, or for none
│   ├── NamespaceNotFound          the archive has no such namespace or folder
│   ├── NoNextPage                 the previous answer was complete, or there is none
│   ├── OutOfRange                 the offset is beyond the end
│   ├── PlaceNotFound              the article tells no coordinates
│   ├── ResourceNotFound           no resource has this URI
│   └── SectionNotFound            the article has no such section
├── OpenZimMcpArchiveError         an archive cannot be read
│   ├── ArchiveUnusable            the file is damaged, incomplete or not a ZIM file
│   ├── ArchiveChanged             the file was replaced during the call
│   ├── ArchiveQuarantined         it crashed a worker or took too long, and its file has not changed since
│   ├── EntryTooLarge              the entry is larger than the limit
│   ├── EntryTooSlow               reading the entry takes longer than a call may
│   ├── OutOfMemory                reading it takes more memory than a worker may use
│   ├── RedirectLoop               the entry redirects in a circle, or more than ten times
│   └── WorkerFailed               a worker process cannot be started, or exited
├── FileNotWritable                a download or a client's configuration cannot be written
│   └── NotEnoughSpace             the file is larger than the free space
├── OpenZimMcpDownloadError        a download failed (commands only, never a tool)
│   ├── DownloadFailed             no mirror has a valid copy of the file; the downloaded part is kept
│   ├── DownloadStopped            the download was interrupted; the downloaded part is kept
│   ├── InvalidCatalog             the catalog cannot be read or is not a catalog
│   ├── NetworkError               no connection, no response, or an incomplete one
│   └── NotInCatalog               the catalog has no archive of that name, or several
└── OpenZimMcpRateLimitError       too many calls

Messages name an archive, never a path, so that no error shows where a file is stored.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Self

from openzim_mcp import tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_ERROR_TOKENS = 145
_MAX_LISTED_ROWS = 10


class OpenZimMcpError(Exception):
    """The base: a message, a hint that says what to do next, and details that depend on the error."""

    operation: str | None = None

    def __init__(self, message: str, *, hint: str | None = None, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details

    def payload(self, operation: str) -> dict[str, object]:
        """Return the error as a tool result."""
        payload: dict[str, object] = {
            "status": "error",
            "operation": self.operation or operation,
            "message": self.message,
        }
        if self.hint:
            payload["hint"] = self.hint
        return payload | self.details

    def with_list(self, name: str, rows: Sequence[object]) -> Self:
        """Add a list to the details: as many rows as an error has room for, at least one."""
        room = _MAX_ERROR_TOKENS - tokens.estimate(str(self.payload("") | {name: []}))
        costs = itertools.accumulate(tokens.estimate(f"{row!r}, ") for row in rows[:_MAX_LISTED_ROWS])
        count = sum(cost <= room for cost in costs)
        if rows:
            self.details[name] = list(rows[: max(1, count)])
        return self


class OpenZimMcpConfigurationError(OpenZimMcpError):
    """A setting, on the command line or in the environment, is wrong."""


class OpenZimMcpValidationError(OpenZimMcpError):
    """An argument of a call is wrong."""

    operation = "invalid_arguments"


class ArchiveNotFound(OpenZimMcpValidationError):
    """The server has no archive of that name, or the call names none and there are several."""

    operation = "archive_not_found"


class InvalidCursor(OpenZimMcpValidationError):
    """The cursor does not belong to this call."""

    operation = "invalid_cursor"


class AmbiguousEntry(OpenZimMcpValidationError):
    """Several archives have an entry of that path or title, and the call names none of them."""

    operation = "ambiguous_entry"


class EntryNotFound(OpenZimMcpValidationError):
    """The archive has no entry of that path or title."""

    operation = "entry_not_found"


class InvalidPathCombination(OpenZimMcpValidationError):
    """The call asks for several things at once, or for none."""

    operation = "invalid_path_combination"


class OutOfRange(OpenZimMcpValidationError):
    """The offset is beyond the end."""

    operation = "offset_out_of_range"


class PlaceNotFound(OpenZimMcpValidationError):
    """The article tells no coordinates, so that nothing is near it."""

    operation = "place_not_found"


class ResourceNotFound(OpenZimMcpValidationError):
    """No resource has this URI."""

    operation = "resource_not_found"


class SectionNotFound(OpenZimMcpValidationError):
    """The article has no such section."""

    operation = "section_not_found"


class NamespaceNotFound(OpenZimMcpValidationError):
    """The archive has no such namespace or folder."""

    operation = "namespace_not_found"


class NoNextPage(OpenZimMcpValidationError):
    """The call asks for the next page, but the previous answer was complete, or there is none."""


class OpenZimMcpArchiveError(OpenZimMcpError):
    """An archive cannot be read."""


class ArchiveUnusable(OpenZimMcpArchiveError):
    """The file is damaged, incomplete, unreadable or not a ZIM file."""

    operation = "archive_unusable"


class ArchiveChanged(OpenZimMcpArchiveError):
    """The file was replaced or rewritten during the call."""

    operation = "archive_changed"


class ArchiveQuarantined(OpenZimMcpArchiveError):
    """The archive or its index crashed a worker or took too long; it is quarantined until its file changes."""

    operation = "archive_quarantined"


class EntryTooLarge(OpenZimMcpArchiveError):
    """The entry is larger than the limit."""

    operation = "entry_too_large"


class EntryTooSlow(OpenZimMcpArchiveError):
    """Reading the entry takes longer than a call may; other entries are not affected."""

    operation = "entry_too_slow"


class ArchiveTooSlow(OpenZimMcpArchiveError):
    """The disk, or the network behind it, took longer than a call may; the archive is asked again by the next call."""

    operation = "archive_too_slow"


class RedirectLoop(OpenZimMcpArchiveError):
    """The entry redirects in a circle, or more than ten times."""

    operation = "redirect_loop"


class OutOfMemory(OpenZimMcpArchiveError):
    """Reading takes more memory than a worker process may use."""

    operation = "out_of_memory"


class WorkerFailed(OpenZimMcpArchiveError):
    """A worker process cannot be started, or exited."""

    operation = "worker_failed"


class FileNotWritable(OpenZimMcpError):
    """A file of the user, such as a download or a client's configuration, cannot be written."""

    operation = "file_refused"


class NotEnoughSpace(FileNotWritable):
    """The file is larger than the free space of the directory."""

    operation = "not_enough_space"


class OpenZimMcpDownloadError(OpenZimMcpError):
    """A catalog or an archive cannot be downloaded."""


class DownloadFailed(OpenZimMcpDownloadError):
    """No mirror has a valid copy of the file; the downloaded part is kept."""

    operation = "download_failed"


class DownloadStopped(OpenZimMcpDownloadError):
    """The download was interrupted; the downloaded part is kept."""

    operation = "download_stopped"


class InvalidCatalog(OpenZimMcpDownloadError):
    """The catalog cannot be read, or the URL or file is not a catalog."""

    operation = "catalogue_unreadable"


class NetworkError(OpenZimMcpDownloadError):
    """There is no connection, no response, or an incomplete one."""

    operation = "unreachable"


class NotInCatalog(OpenZimMcpDownloadError):
    """The catalog has no archive of that name, or several."""

    operation = "not_in_catalogue"


class OpenZimMcpRateLimitError(OpenZimMcpError):
    """Too many calls in too short a time."""

    operation = "rate_limited"


def _classes_by_name(root: type[OpenZimMcpError]) -> dict[str, type[OpenZimMcpError]]:
    classes = {root.__name__: root}
    for child in root.__subclasses__():
        classes |= _classes_by_name(child)
    return classes


def rebuild_error(name: str, message: str, hint: str | None, details: dict[str, object]) -> OpenZimMcpError:
    """Return the error that a worker process raised, by the name of its class."""
    error_class = _classes_by_name(OpenZimMcpError).get(name, OpenZimMcpArchiveError)
    return error_class(message, hint=hint, **details)


def entry_too_slow(archive: str, entry: str) -> EntryTooSlow:
    """Return the error for an entry, given by a name that can be shown."""
    return EntryTooSlow(
        f"Entry {entry!r} of {archive!r} takes too long to read.",
        hint="Other entries are not affected. Its bytes can be read as they are (binary=true).",
    )
