"""What a worker that crashed or exceeded its deadline means for the archive that it was reading."""

from __future__ import annotations

import contextlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from openzim_mcp import errors
from openzim_mcp.calls import WAITING_SHARE
from openzim_mcp.library.facts import archive_too_slow
from openzim_mcp.text import safe_line
from openzim_mcp.zimfile import stat_parts

if TYPE_CHECKING:
    from openzim_mcp.calls import Call
    from openzim_mcp.library.facts import FactStore, Scope
    from openzim_mcp.pool.process import WorkerExited, WorkerProcess
    from openzim_mcp.zimfile import ArchiveFile

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Faults:
    """Records faults of archives, and tells the caller."""

    facts: FactStore
    deadline: float

    def blame_crash(self, worker: WorkerProcess, archive: ArchiveFile, call: Call[Any], exited: WorkerExited) -> None:
        """Quarantine an archive that ended a worker and raise its error; or leave out the document that did."""
        if exited.was_killed:
            return
        if worker.reading:
            self._leave_out(archive, worker.reading, f"it {exited}")
            return
        self._quarantine(archive, call, f"it {exited}", is_timeout=False)

    async def end_late(self, worker: WorkerProcess, archive: ArchiveFile, call: Call[Any]) -> NoReturn:
        """End a worker that exceeded its deadline, and raise the error of what was slow: disk, document, archive."""
        is_computing = await worker.is_computing()
        await worker.stop()
        if not is_computing:
            self.facts.note_slow_disk(archive)
            seconds = self.deadline * (1 + WAITING_SHARE)
            raise archive_too_slow(archive, f"a call waited for it for {seconds:g} s") from None
        reason = f"it took longer than {self.deadline:g} s"
        if worker.reading:
            self._leave_out(archive, worker.reading, reason)
            raise errors.entry_too_slow(archive.name, safe_line(worker.reading, 200)) from None
        self._quarantine(archive, call, reason, is_timeout=True)

    def _leave_out(self, archive: ArchiveFile, entry: str, reason: str) -> None:
        """Do not read a document again, and keep its archive."""
        self.facts.mark_crashed(archive, entry)
        log.warning("a document of %s is left out: %s", archive.name, reason)

    def _quarantine(self, archive: ArchiveFile, call: Call[Any], reason: str, *, is_timeout: bool) -> NoReturn:
        """Quarantine what was being read, unless its file has changed in the meantime, and tell the caller."""
        is_unchanged = False
        with contextlib.suppress(OSError):
            is_unchanged = stat_parts(archive.parts).identity == archive.identity
        if not is_unchanged:
            raise errors.ArchiveChanged(
                f"{archive.name!r} was replaced or removed during the call.",
                hint="Ask again.",
                archive=archive.file_name,
            )
        if is_timeout and call.entry is not None:
            # Calls about the archive as a whole tell whether it is the archive that does not answer.
            self.facts.mark_slow(archive, call.entry)
            log.warning("an entry of %s takes longer than %g s to read", archive.name, self.deadline)
            raise errors.entry_too_slow(archive.name, safe_line(call.entry, 200))
        scope: Scope = "index" if call.asks_index else "archive"
        self.facts.quarantine(archive, scope, reason, is_timeout=is_timeout)
        log.warning("%s of %s quarantined: %s", scope, archive.name, reason)
        subject = "Its search index" if scope == "index" else "It"
        raise errors.ArchiveQuarantined(
            f"{archive.name!r} could not be read: {reason}. {subject} stays quarantined until the file changes.",
            hint="Other archives are not affected. zim_health tells whether this one's checksum is right.",
            archive=archive.file_name,
            scope=scope,
        )
