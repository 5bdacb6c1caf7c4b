"""The exit codes: what a script can tell from them."""

from __future__ import annotations

import enum

from openzim_mcp import errors


class Exit(enum.IntEnum):
    """How a command ended."""

    DONE = 0
    NO = 1
    USAGE = 2
    UNREADABLE = 3
    NETWORK = 4
    DISK = 5
    INTERRUPTED = 130
    PIPE_CLOSED = 141


MEANINGS = {
    Exit.DONE: "it did what was asked, and the answer is yes",
    Exit.NO: "it ran, and the answer is no: nothing found, an archive is damaged, something is to be mended",
    Exit.USAGE: "the command line or a setting is wrong",
    Exit.UNREADABLE: "an archive cannot be read",
    Exit.NETWORK: "the network, a server or a mirror failed",
    Exit.DISK: "a file cannot be written, or there is no room for it",
    Exit.INTERRUPTED: "it was interrupted",
    Exit.PIPE_CLOSED: "whoever read its output went away",
}

_OF_ERRORS: tuple[tuple[type[errors.OpenZimMcpError], Exit], ...] = (
    (errors.OpenZimMcpConfigurationError, Exit.USAGE),
    (errors.ArchiveNotFound, Exit.NO),
    (errors.EntryNotFound, Exit.NO),
    (errors.SectionNotFound, Exit.NO),
    (errors.OpenZimMcpValidationError, Exit.USAGE),
    (errors.OpenZimMcpArchiveError, Exit.UNREADABLE),
    (errors.FileNotWritable, Exit.DISK),
    (errors.DownloadStopped, Exit.INTERRUPTED),
    (errors.NotInCatalog, Exit.NO),
    (errors.OpenZimMcpDownloadError, Exit.NETWORK),
)
"""The first row that fits an error says how the command ends."""


def code_of(error: errors.OpenZimMcpError) -> Exit:
    """Return the exit code of an error."""
    return next((code for kind, code in _OF_ERRORS if isinstance(error, kind)), Exit.NO)
