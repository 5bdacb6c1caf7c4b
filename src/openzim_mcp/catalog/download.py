"""Getting one file: from the best mirror that works, going on where an earlier attempt ended, right to the last bit."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from openzim_mcp import errors
from openzim_mcp.catalog.client import BEYOND_THE_END, FAULTY, OK, PARTIAL, TOO_MANY, Patience, host, status_words
from openzim_mcp.catalog.partial_file import Note, Part
from openzim_mcp.zimfile import NotAZim, RawFile, checksum_matches

if TYPE_CHECKING:
    from collections.abc import Callable

    from openzim_mcp.catalog.client import Answer, Network
    from openzim_mcp.catalog.metalink import Pieces, Source

_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")
_BEYOND = re.compile(r"bytes \*/(\d{1,18})")
_PROGRESS = 1 << 16
_FIRST_ROUNDS = 3
_ROUNDS = 8
_LONGEST_PAUSE = 30
_REPORT_SECONDS = 0.1
Doing = Literal["checking", "receiving", "mending", "verifying"]
Watch: TypeAlias = "Callable[[Doing, int, int | None], None]"
"""Is told what is being done, and how many bytes of how many are."""


@dataclass(frozen=True)
class Done:
    """A file that is here, how it was found to be right, and where its bytes came from in this run."""

    path: str
    size: int
    checked_by: Literal["sha256", "checksum inside"]
    received: int
    hosts: tuple[str, ...]


class _Trouble(Exception):
    """A mirror does not do; `final` says that trying it again is no use."""

    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.final = final


def _silent(doing: Doing, done: int, total: int | None) -> None:
    """Report to nobody."""


def download(
    network: Network,
    source: Source,
    target: str,
    watch: Watch = _silent,
    stop: threading.Event | None = None,
) -> Done:
    """Get a file to `target`, which is replaced only when the new one is complete and right.

    Raise `DownloadFailed` when no mirror gives it, `NotEnoughSpace`, or `DownloadStopped` after `stop` was set; what
    was got by then is kept for the next time.
    """
    with Part(target) as part:
        return _Download(network, source, part, watch, stop or threading.Event()).run()


class _Download:
    def __init__(
        self,
        network: Network,
        source: Source,
        part: Part,
        watch: Watch,
        stop: threading.Event,
    ) -> None:
        self.network = network
        self.patience: Patience = network.patience
        self.source = source
        self.part = part
        self.watch = watch
        self.stop = stop
        self.total = source.size
        self.mirrors = deque(source.urls)
        self.unhurried: set[str] = set()
        self.used: dict[str, None] = {}
        self.received = 0
        self._reported = 0.0
        self._last = ""
        self._blamed = False

    def run(self) -> Done:
        self._take_up()
        while True:
            self._receive()
            checked_by = self._check()
            if checked_by:
                break
        size = self.part.size
        self.part.finish()
        return Done(self.part.target, size, checked_by, self.received, tuple(dict.fromkeys(map(host, self.used))))

    def _take_up(self) -> None:
        """Keep what an earlier attempt left, if it belongs to this file."""
        note, part = self.part.note, self.part
        other = note is not None and self.source.sha256 is not None and note.sha256 not in (None, self.source.sha256)
        if other or (self.total is not None and part.size > self.total) or (note is None and not self.source.sha256):
            part.restart()
        if self.total is not None:
            part.check_space(self.total)
        part.recall(lambda done: self._report("checking", done, part.size))

    def _report(self, doing: Doing, done: int, total: int | None) -> None:
        if self.stop.is_set():
            raise errors.DownloadStopped(
                f"{self.part.name} was interrupted after {self.part.size:,} bytes, which are kept.",
                hint="The same command goes on from there.",
            )
        now = time.monotonic()
        if now - self._reported > _REPORT_SECONDS or done == total:
            self._reported = now
            self.watch(doing, done, total)

    def _receive(self) -> None:
        """Get what is missing, from one mirror after the other."""
        fruitless = 0
        while self.total is None or self.part.size < self.total:
            if not self.mirrors:
                raise self._failed("No mirror is left")
            before, url = self.part.size, self.mirrors[0]
            try:
                self._attempt(url)
            except (_Trouble, errors.NetworkError) as trouble:
                self._last = str(trouble)
                self.mirrors.rotate(-1)
                if isinstance(trouble, _Trouble) and trouble.final:
                    self.mirrors.remove(url)
                fruitless = 0 if self.part.size - before > _PROGRESS else fruitless + 1
                self._rest(fruitless)

    def _failed(self, what: str) -> errors.DownloadFailed:
        kept = f" The {self.part.size:,} bytes that came are kept; the same command goes on from there."
        return errors.DownloadFailed(
            f"{what} for {self.part.name}: {self._last}{kept if self.part.size else ''}",
            hint="Try again later, or with --refresh in case the file is newer than the catalogue.",
        )

    def _rest(self, fruitless: int) -> None:
        """Wait a while after every round of mirrors that brought nothing; give up after some."""
        rounds, rest = divmod(fruitless, max(len(self.mirrors), 1))
        if rounds >= (_ROUNDS if self.received else _FIRST_ROUNDS):
            raise self._failed("All mirrors failed")
        if fruitless and not rest:
            self.stop.wait(min(self.patience.pause * 2**rounds, _LONGEST_PAUSE))
        self._report("receiving", self.part.size, self.total)

    def _attempt(self, url: str) -> None:
        """Get as much as one mirror gives."""
        with self.network.get(url, **self._asking(url)) as answer:
            skipped = self._place(answer, url)
            if self.total is None:
                raise _Trouble(f"{host(url)} does not say how long the file is.", final=True)
            if answer.status != BEYOND_THE_END:
                self._copy(answer, url, skipped, self.total)
        if self.part.size < self.total:
            raise _Trouble(f"{host(url)} ended too early.")

    def _asking(self, url: str) -> dict[str, str]:
        """Return the headers that ask for what is missing, and for it only if it is still the same file."""
        headers = {"Accept_Encoding": "identity"}
        note = self.part.note
        mark = note.mark if note and note.url == url else ""
        if self.part.size and (mark or self.source.sha256):
            headers["Range"] = f"bytes={self.part.size}-"
        if self.part.size and mark:
            headers["If_Range"] = mark
        return headers

    def _place(self, answer: Answer, url: str) -> int:
        """Understand where the answer's bytes belong; return how many of them are here already."""
        if answer.header("content-encoding") not in ("", "identity"):
            raise _Trouble(f"{host(url)} changes the file on its way.", final=True)
        if answer.status == PARTIAL:
            return self._place_part(answer, url)
        if answer.status == OK:
            return self._place_whole(answer, url)
        if answer.status == BEYOND_THE_END:
            return self._place_beyond(answer, url)
        again = answer.status >= FAULTY or answer.status == TOO_MANY
        raise _Trouble(f"{host(url)} answers {status_words(answer.status)}.", final=not again)

    def _place_part(self, answer: Answer, url: str) -> int:
        span = _RANGE.fullmatch(answer.header("content-range"))
        if span is None or int(span[1]) != self.part.size:
            raise _Trouble(f"{host(url)} sends another part than it was asked for.", final=True)
        self._learn_total(int(span[3]), url)
        return 0

    def _place_whole(self, answer: Answer, url: str) -> int:
        """Start over, or skip what is here where it is surely of the same file."""
        length = answer.header("content-length")
        known = self.part.note
        same = self.source.sha256 is not None or bool(known and known.mark and known.mark == _mark(answer))
        if self.part.size and not same:
            self.part.restart()
            self.total = self.source.size
        if length.isdigit():
            self._learn_total(int(length), url)
        if not self.part.size:
            self.part.remember(Note(self.source.sha256, url, _mark(answer)))
        return self.part.size

    def _place_beyond(self, answer: Answer, url: str) -> int:
        """Understand that nothing is missing, or that what is here is of another file."""
        span = _BEYOND.fullmatch(answer.header("content-range"))
        if self.source.sha256 is not None:
            raise _Trouble(f"{host(url)} has a shorter file.", final=True)
        if span is None or int(span[1]) != self.part.size:
            self.part.restart()
            raise _Trouble(f"{host(url)} has another file now.")
        self.total = self.part.size
        return 0

    def _learn_total(self, total: int, url: str) -> None:
        if self.total is not None and total != self.total:
            raise _Trouble(f"{host(url)} has a file of {total:,} bytes instead of {self.total:,}.", final=True)
        if not total:
            raise _Trouble(f"{host(url)} has an empty file.", final=True)
        if self.total is None:
            self.part.check_space(total)
            self.total = total

    def _copy(self, answer: Answer, url: str, skipped: int, total: int) -> None:
        """Keep the bytes of an answer, up to the end of the file."""
        since, counted = time.monotonic(), 0
        for chunk in answer.chunks:
            counted += len(chunk)
            kept = chunk[skipped:] if skipped else chunk
            kept = kept[: total - self.part.size]
            skipped = max(0, skipped - len(chunk))
            if kept:
                self.used[url] = None
                self.part.add(kept)
                self.received += len(kept)
            self._report("receiving", self.part.size, total)
            if self.part.size >= total:
                return
            if time.monotonic() - since > self.patience.slow_seconds:
                self._judge_pace(url, counted / (time.monotonic() - since))
                since, counted = time.monotonic(), 0

    def _judge_pace(self, url: str, rate: float) -> None:
        """Leave a mirror that crawls, each once: where all crawl, the connection is to blame."""
        others = set(self.mirrors) - {url} - self.unhurried
        if rate < self.patience.slow_rate and others:
            self.unhurried.add(url)
            raise _Trouble(f"{host(url)} is slow.")

    def _check(self) -> Literal["sha256", "checksum inside"] | None:
        """Return how the file was found to be right; None when it has to be got again."""
        if self.source.sha256:
            if self.part.sha256() == self.source.sha256 or self._mended():
                return "sha256"
            self._start_over("the SHA-256 is not that of the library")
            return None
        if self._sound_inside():
            return "checksum inside"
        self._start_over("it is no sound ZIM file")
        return None

    def _sound_inside(self) -> bool:
        """Compare the file with its own checksum, where no other is known."""
        try:
            promised = RawFile([self.part.path]).header().promised_size
            if promised is not None and promised > self.part.size:
                return False
            size = self.part.size
            matches = checksum_matches([self.part.path], lambda done, _: self._report("verifying", done, size))
        except NotAZim:
            return False
        return matches is not False

    def _start_over(self, why: str) -> None:
        """Get a wrong file again, without the mirror that gave it; once with all where several gave some of it."""
        mixed = self.part.resumed or len(self.used) > 1
        if self._blamed or not mixed:
            self.mirrors = deque(url for url in self.mirrors if url not in self.used)
        self._blamed = self._blamed or not self.part.resumed
        self._last = f"{why}."
        self.part.restart()
        self.used.clear()
        self.total = self.source.size
        if not self.mirrors:
            raise self._failed("What came is wrong")

    def _mended(self) -> bool:
        """Get only the wrong pieces again, where their hashes are known; return whether the file is right then."""
        pieces = self.source.pieces
        if pieces is None or self.part.size != self.source.size:
            return False
        wrong = self.part.wrong_pieces(pieces.length, pieces.algorithm, pieces.hashes)
        for count, number in enumerate(wrong):
            self._report("mending", count, len(wrong))
            piece = self._piece(pieces, number)
            if piece is None:
                return False
            self.part.mend(number * pieces.length, piece)
        return bool(wrong) and self.source.sha256 == self.part.rehash(
            lambda done: self._report("checking", done, self.part.size)
        )

    def _piece(self, pieces: Pieces, number: int) -> bytes | None:
        """Return a piece as it should be, from the first mirror that has it so."""
        first = number * pieces.length
        last = min(first + pieces.length, self.part.size) - 1
        for url in (*(url for url in self.mirrors if url not in self.used), *self.used):
            try:
                with self.network.get(url, Accept_Encoding="identity", Range=f"bytes={first}-{last}") as answer:
                    if answer.status != PARTIAL:
                        continue
                    found = b"".join(_up_to(answer, last + 1 - first))
            except errors.NetworkError:
                continue
            if hashlib.new(pieces.algorithm, found, usedforsecurity=False).hexdigest() == pieces.hashes[number]:
                self.received += len(found)
                return found
        return None


def _up_to(answer: Answer, length: int) -> list[bytes]:
    """Return the bytes of an answer, no more than were asked for."""
    found, missing = [], length
    for chunk in answer.chunks:
        found.append(chunk[:missing])
        missing -= len(found[-1])
        if not missing:
            break
    return found


def _mark(answer: Answer) -> str:
    """Return what tells this edition of a file from others on the same server; weak tags do not."""
    tag = answer.header("etag")
    return tag if tag and not tag.startswith("W/") else answer.header("last-modified")
