"""Download one file from its mirrors: resume an earlier download, change mirrors that fail, check the result."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections import deque
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Literal, TypeAlias

from openzim_mcp import errors
from openzim_mcp.catalog.client import describe_status, display_host
from openzim_mcp.catalog.partial_file import PartialFile, ResumeInfo
from openzim_mcp.text import format_size
from openzim_mcp.zimfile import NotAZim, ZimFile, checksum_matches

if TYPE_CHECKING:
    from collections.abc import Callable

    from openzim_mcp.catalog.client import Client, Response
    from openzim_mcp.catalog.metalink import Pieces, Source

_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")
_UNSATISFIED_RANGE = re.compile(r"bytes \*/(\d{1,18})")
_MIN_PROGRESS_BYTES = 1 << 16
_MAX_ROUNDS_WITHOUT_DATA = 3
_MAX_ROUNDS = 8
_MAX_PAUSE_SECONDS = 30
_REPORT_SECONDS = 0.1
Check = Literal["sha256", "checksum inside"]
Phase = Literal["hashing", "downloading", "repairing", "verifying"]
ProgressCallback: TypeAlias = "Callable[[Phase, int, int | None], None]"
"""Called with the phase, how much of it is done, and the total if it is known; in bytes, when repairing in pieces."""


@dataclass(frozen=True)
class Download:
    """A complete download: how it was checked, how many bytes this run received, and from which hosts."""

    path: str
    size: int
    checked_by: Check
    received: int
    hosts: tuple[str, ...]


class MirrorError(Exception):
    """A mirror failed; if `permanent`, it is not tried again."""

    def __init__(self, message: str, *, permanent: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent


def _ignore_progress(phase: Phase, done: int, total: int | None) -> None:
    pass


def download_file(
    client: Client,
    source: Source,
    target: str,
    on_progress: ProgressCallback = _ignore_progress,
    stop: threading.Event | None = None,
) -> Download:
    """Download a file to `target`, which is replaced only when the new file is complete and its checksum matches.

    Raise `DownloadFailed` if no mirror has a valid copy, `NotEnoughSpace`, or `DownloadStopped` after `stop` was set;
    the downloaded part is kept for the next time.
    """
    with PartialFile(target) as partial:
        return _Downloader(client, source, partial, on_progress, stop or threading.Event()).run()


class _Downloader:
    def __init__(
        self,
        client: Client,
        source: Source,
        partial: PartialFile,
        on_progress: ProgressCallback,
        stop: threading.Event,
    ) -> None:
        self.client = client
        self.timeouts = client.timeouts
        self.source = source
        self.partial = partial
        self.on_progress = on_progress
        self.stop = stop
        self.total = source.size
        self.mirrors = deque(source.urls)
        self.slow_mirrors: set[str] = set()
        self.used_mirrors: dict[str, None] = {}
        self.received = 0
        self._last_report = 0.0
        self._last_error = ""
        self._wrong_file = ""
        """Why a complete file was discarded: it says more than that another mirror does not respond."""
        self._received_before = 0
        self._blame_used_mirrors = False

    def run(self) -> Download:
        self._resume()
        while True:
            self._receive_missing()
            checked_by = self._verify()
            if checked_by:
                break
        size = self.partial.size
        self.partial.finish()
        hosts = tuple(dict.fromkeys(map(display_host, self.used_mirrors)))
        return Download(self.partial.target, size, checked_by, self.received, hosts)

    def _resume(self) -> None:
        """Use the bytes of an earlier download if they belong to this file."""
        info, partial = self.partial.resume_info, self.partial
        is_other_file = (
            info is not None and self.source.sha256 is not None and info.sha256 not in {None, self.source.sha256}
        )
        is_too_long = self.total is not None and partial.size > self.total
        is_unknown = info is None and not self.source.sha256
        if is_other_file or is_too_long or is_unknown:
            partial.restart()
        if self.total is not None:
            partial.check_space(self.total)
        partial.hash_existing(lambda done: self._report("hashing", done, partial.size))

    def _report(self, phase: Phase, done: int, total: int | None) -> None:
        if self.stop.is_set():
            raise errors.DownloadStopped(
                f"The download of {self.partial.name} was interrupted; {format_size(self.partial.size)} are kept.",
                hint="Run the same command again to resume.",
            )
        now = time.monotonic()
        if now - self._last_report > _REPORT_SECONDS or done == total:
            self._last_report = now
            self.on_progress(phase, done, total)

    def _receive_missing(self) -> None:
        """Download the missing bytes, from one mirror after the other."""
        failures = 0
        while self.total is None or self.partial.size < self.total:
            if not self.mirrors:
                raise self._failure("No mirror is left")
            size_before, url = self.partial.size, self.mirrors[0]
            try:
                self._download_from(url)
            except (MirrorError, errors.NetworkError) as error:
                self._last_error = str(error)
                self.mirrors.rotate(-1)
                if isinstance(error, MirrorError) and error.permanent:
                    self.mirrors.remove(url)
                failures = 0 if self.partial.size - size_before > _MIN_PROGRESS_BYTES else failures + 1
                self._pause_after(failures)

    def _failure(self, problem: str) -> errors.DownloadFailed:
        size = self.partial.size
        kept_note = (
            f" The downloaded {format_size(size)} are kept; run the same command again to resume." if size else ""
        )
        reasons = dict.fromkeys(filter(None, (self._wrong_file, self._last_error)))
        return errors.DownloadFailed(
            f"{problem} for {self.partial.name}: {' '.join(reasons)}{kept_note}",
            hint="Try again later, or with --refresh in case the file is newer than the catalog.",
        )

    def _pause_after(self, failures: int) -> None:
        """Pause after each round of mirrors that all failed; raise after several rounds."""
        rounds, failures_in_round = divmod(failures, max(len(self.mirrors), 1))
        if rounds >= (_MAX_ROUNDS if self.received > self._received_before else _MAX_ROUNDS_WITHOUT_DATA):
            raise self._failure("All mirrors failed")
        if failures and not failures_in_round:
            self.stop.wait(min(self.timeouts.retry_seconds * 2**rounds, _MAX_PAUSE_SECONDS))
        self._report("downloading", self.partial.size, self.total)

    def _download_from(self, url: str) -> None:
        """Download the missing bytes from one mirror, as many as it sends."""
        with self.client.get(url, **self._request_headers(url)) as response:
            skip = self._accept_response(response, url)
            if self.total is None:
                raise MirrorError(f"{display_host(url)} does not send the length of the file.", permanent=True)
            if response.status != HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                self._copy_body(response, url, skip, self.total)
        if self.partial.size < self.total:
            raise MirrorError(f"{display_host(url)} closed the connection too early.")

    def _request_headers(self, url: str) -> dict[str, str]:
        """Return headers that ask for the missing bytes, on condition that the file has not changed."""
        headers = {"Accept_Encoding": "identity"}
        info = self.partial.resume_info
        validator = info.validator if info and info.url == url else ""
        if self.partial.size and (validator or self.source.sha256):
            headers["Range"] = f"bytes={self.partial.size}-"
        if self.partial.size and validator:
            headers["If_Range"] = validator
        return headers

    def _accept_response(self, response: Response, url: str) -> int:
        """Return how many bytes at the start of the body to skip; raise `MirrorError` if the body is of no use."""
        if response.header("content-encoding") not in ("", "identity"):
            raise MirrorError(f"{display_host(url)} compresses the file.", permanent=True)
        if response.status == HTTPStatus.PARTIAL_CONTENT:
            return self._accept_partial(response, url)
        if response.status == HTTPStatus.OK:
            return self._accept_full(response, url)
        if response.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return self._accept_unsatisfiable(response, url)
        temporary = response.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        temporary = temporary or response.status == HTTPStatus.TOO_MANY_REQUESTS
        raise MirrorError(f"{display_host(url)} responded {describe_status(response.status)}.", permanent=not temporary)

    def _accept_partial(self, response: Response, url: str) -> int:
        span = _CONTENT_RANGE.fullmatch(response.header("content-range"))
        if span is None or int(span[1]) != self.partial.size:
            raise MirrorError(f"{display_host(url)} sent another range than requested.", permanent=True)
        self._set_total(int(span[3]), url)
        return 0

    def _accept_full(self, response: Response, url: str) -> int:
        """Restart, or skip the downloaded bytes if they are certainly from the same file."""
        length = response.header("content-length")
        info = self.partial.resume_info
        is_same_file = self.source.sha256 is not None or bool(
            info and info.validator and info.validator == _validator(response)
        )
        if self.partial.size and not is_same_file:
            self.partial.restart()
            self.total = self.source.size
        if length.isdigit():
            self._set_total(int(length), url)
        if not self.partial.size:
            self.partial.save_resume_info(ResumeInfo(self.source.sha256, url, _validator(response)))
        return self.partial.size

    def _accept_unsatisfiable(self, response: Response, url: str) -> int:
        """Handle 416: the partial file is complete, or it belongs to another file."""
        span = _UNSATISFIED_RANGE.fullmatch(response.header("content-range"))
        if self.source.sha256 is not None:
            raise MirrorError(f"The file of {display_host(url)} is too short.", permanent=True)
        if span is None or int(span[1]) != self.partial.size:
            self.partial.restart()
            raise MirrorError(f"The file of {display_host(url)} has changed.")
        self.total = self.partial.size
        return 0

    def _set_total(self, total: int, url: str) -> None:
        if self.total is not None and total != self.total:
            raise MirrorError(
                f"The file of {display_host(url)} has {total:,} bytes instead of {self.total:,}.", permanent=True
            )
        if not total:
            raise MirrorError(f"The file of {display_host(url)} is empty.", permanent=True)
        if self.total is None:
            self.partial.check_space(total)
            self.total = total

    def _copy_body(self, response: Response, url: str, skip: int, total: int) -> None:
        """Append the body to the partial file, up to the end of the file."""
        started, received = time.monotonic(), 0
        for chunk in response.chunks:
            received += len(chunk)
            new_bytes = chunk[skip:][: total - self.partial.size]
            skip = max(0, skip - len(chunk))
            if new_bytes:
                self.used_mirrors[url] = None
                self.partial.append(new_bytes)
                self.received += len(new_bytes)
            self._report("downloading", self.partial.size, total)
            if self.partial.size >= total:
                return
            if time.monotonic() - started > self.timeouts.slow_seconds:
                self._check_speed(url, received / (time.monotonic() - started))
                started, received = time.monotonic(), 0

    def _check_speed(self, url: str, bytes_per_second: float) -> None:
        """Leave a slow mirror, but each only once: if all are slow, the connection is the cause."""
        faster_candidates = set(self.mirrors) - {url} - self.slow_mirrors
        if bytes_per_second < self.timeouts.min_bytes_per_second and faster_candidates:
            self.slow_mirrors.add(url)
            raise MirrorError(f"{display_host(url)} is slow.")

    def _verify(self) -> Check | None:
        """Return how the file was checked; None if it is wrong and has to be downloaded again."""
        if self.source.sha256:
            if self.partial.sha256() == self.source.sha256 or self._repair_pieces():
                return "sha256"
            self._restart("the SHA-256 does not match the published one")
            return None
        if self._matches_own_checksum():
            return "checksum inside"
        self._restart("it is not a valid ZIM file")
        return None

    def _matches_own_checksum(self) -> bool:
        try:
            promised_size = ZimFile([self.partial.path]).header().file_size
            if promised_size is not None and promised_size > self.partial.size:
                return False
            size = self.partial.size
            matches = checksum_matches([self.partial.path], lambda done, _: self._report("verifying", done, size))
        except NotAZim:
            return False
        return matches is not False

    def _restart(self, problem: str) -> None:
        """Discard a wrong file and remove the mirrors it came from.

        If several mirrors or an earlier run have contributed, any of them may be wrong: all are tried once more.
        """
        several_contributed = self.partial.resumed or len(self.used_mirrors) > 1
        if self._blame_used_mirrors or not several_contributed:
            self.mirrors = deque(url for url in self.mirrors if url not in self.used_mirrors)
        self._blame_used_mirrors = self._blame_used_mirrors or not self.partial.resumed
        self._last_error = self._wrong_file = f"{problem[0].upper()}{problem[1:]}."
        self._received_before = self.received
        self.partial.restart()
        self.used_mirrors.clear()
        self.total = self.source.size
        if not self.mirrors:
            raise self._failure("No mirror has a valid file")

    def _repair_pieces(self) -> bool:
        """Download only the wrong pieces again, if the hashes of pieces are known; return whether the file is right."""
        pieces = self.source.pieces
        if pieces is None or self.partial.size != self.source.size:
            return False
        wrong = self.partial.find_wrong_pieces(pieces.length, pieces.algorithm, pieces.hashes)
        for repaired, number in enumerate(wrong):
            self._report("repairing", repaired, len(wrong))
            piece = self._download_piece(pieces, number)
            if piece is None:
                return False
            self.partial.rewrite(number * pieces.length, piece)
        return bool(wrong) and self.source.sha256 == self.partial.rehash(
            lambda done: self._report("hashing", done, self.partial.size)
        )

    def _download_piece(self, pieces: Pieces, number: int) -> bytes | None:
        """Return a piece from the first mirror whose piece has the expected hash; mirrors not used yet come first."""
        first = number * pieces.length
        last = min(first + pieces.length, self.partial.size) - 1
        for url in (*(url for url in self.mirrors if url not in self.used_mirrors), *self.used_mirrors):
            try:
                with self.client.get(url, Accept_Encoding="identity", Range=f"bytes={first}-{last}") as response:
                    if response.status != HTTPStatus.PARTIAL_CONTENT:
                        continue
                    piece = _read_body(response, last + 1 - first)
            except errors.NetworkError:
                continue
            if hashlib.new(pieces.algorithm, piece, usedforsecurity=False).hexdigest() == pieces.hashes[number]:
                self.received += len(piece)
                return piece
        return None


def _read_body(response: Response, max_bytes: int) -> bytes:
    body = bytearray()
    for chunk in response.chunks:
        body += chunk[: max_bytes - len(body)]
        if len(body) == max_bytes:
            break
    return bytes(body)


def _validator(response: Response) -> str:
    """Return the ETag if it is strong, else Last-Modified: a weak ETag does not identify the exact bytes."""
    etag = response.header("etag")
    return etag if etag and not etag.startswith("W/") else response.header("last-modified")
