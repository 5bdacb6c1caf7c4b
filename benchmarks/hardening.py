"""Attacks, crowds and bad days, one row of SCENARIOS each: what another client notices, and what stays in memory.

python benchmarks/hardening.py                          everything, into RESULTS.md
python benchmarks/hardening.py --only leaver            one scenario, into RESULTS.md
python benchmarks/hardening.py --only frames --minutes 1 --print

A loaded machine makes every wait longer, so waits are quantiles, beside those of the same client without the attack.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import importlib
import os
import random
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from http_load import (
    HEADERS,
    INITIALIZE_VERSION,
    LARGE,
    SQLITE,
    Client,
    Connection,
    HttpServer,
    Usage,
    Workload,
    workload,
)
from measure import OURS, ROOT, Server, process_tree, report, table
from mixed_use import MixedUse
from nested_markup import measure_nesting

sys.path.insert(0, str(ROOT / "tests"))
random_frames = importlib.import_module("support.frames").random_frames
write_zim = importlib.import_module("support.archives").write_zim

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator

SERVE = [*OURS, "--mode", "advanced", "--transport", "http", "--port", "{port}"]
TOKEN = "one-token-for-everybody"  # noqa: S105  of a server on the loopback address
AUTHORIZATION = f"Authorization: Bearer {TOKEN}\r\n"
CROWD = 500
LEFT_QUESTIONS, LEFT_AFTER_SECONDS = 20, 0.05
UNREAD_CONNECTIONS = 200
FRAMES_PER_SECOND = 100


@dataclass
class Waits:
    """How long calls took, in seconds, and how they ended."""

    seconds: list[float] = field(default_factory=list)
    results: Counter[str] = field(default_factory=Counter)

    async def measure(self, call: Awaitable[str]) -> None:
        """Wait for a call."""
        start = time.perf_counter()
        self.results[await call] += 1
        self.seconds.append(time.perf_counter() - start)

    def quantile(self, share: float) -> float:
        """Return a quantile, in milliseconds."""
        return sorted(self.seconds)[min(len(self.seconds) - 1, int(share * len(self.seconds)))] * 1000

    @property
    def cells(self) -> list[str]:
        """The cells of a table row."""
        quantiles = [f"{self.quantile(share):.0f}" for share in (0.5, 0.95, 0.99, 1)]
        late = sum(seconds > 1 for seconds in self.seconds)
        return [str(len(self.seconds)), *quantiles, str(late), _describe(self.results)]


WAIT_COLUMNS = ["calls", "median ms", "95 %", "99 %", "longest", "over 1 s", "results"]


def _describe(results: Counter[str]) -> str:
    return ", ".join(f"{number} {outcome}" for outcome, number in sorted(results.items()))


def write_small_archives(folder: Path, count: int) -> None:
    """Write archives of ten pages each; every tenth has new words, the others are copies."""
    words = [title.split()[0] for _, title in workload(LARGE).titles]
    for number in range(count):
        path = folder / f"small{number:03}.zim"
        if number % 10:
            shutil.copy(folder / f"small{number - number % 10:03}.zim", path)
            continue
        texts = {f"Town{n}": " ".join(words[(number + n) * 40 : (number + n + 1) * 40]) for n in range(10)}
        write_zim(path, {name: f"<h1>{name}</h1><p>{name} was founded by {text}.</p>" for name, text in texts.items()})


async def measure_crowd(_options: argparse.Namespace) -> str:
    """Serve many clients behind one token and one address, each with a session, a stream and calls."""
    settings = {"AUTH_TOKEN": TOKEN, "RATE_LIMIT__ENABLED": "false", "CACHE__ENABLED": "false"}
    waits, starts = Waits(), Waits()
    with serving([SQLITE], settings) as (server, folder):
        before = Usage.of(server)
        async with AsyncExitStack() as stack:
            clients = []
            for _ in range(CROWD):
                connection = await stack.enter_async_context(Connection.open(server.port))
                stream = await stack.enter_async_context(Connection.open(server.port))
                clients.append(AuthorizedClient(connection))
                await starts.measure(_begin_with_stream(clients[-1], stream))
            calls = workload(SQLITE).calls(["article", "search"])
            batch = [next(calls) for _ in range(2 * CROWD)]

            async def make_calls(number: int) -> None:
                for tool, arguments in batch[2 * number : 2 * number + 2]:
                    call = clients[number].call(tool, arguments | {"zim_file_path": str(folder / SQLITE.name)})
                    await waits.measure(call)

            await asyncio.gather(*map(make_calls, range(CROWD)))
            during = Usage.of(server)
        await asyncio.sleep(3)
        after = Usage.of(server)
    rows = [[f"start of {CROWD} sessions, one by one", *starts.cells], ["calls, all clients at once", *waits.cells]]
    memory = [["before", *before.cells], [f"{CROWD} clients", *during.cells], ["after they left", *after.cells]]
    header = ["memory", "server, MB", "worker processes, MB", "file descriptors", "processes"]
    return f"{table([f'{CROWD} clients, one token', *WAIT_COLUMNS], rows)}\n\n{table(header, memory)}"


class AuthorizedClient(Client):
    """A client with the token that all share."""

    def message(self, method: str, params: dict[str, Any], *, is_request: bool = True) -> tuple[str, bytes]:
        """Return the headers and the body of a message."""
        headers, body = super().message(method, params, is_request=is_request)
        return headers + AUTHORIZATION, body


async def _begin_with_stream(client: Client, stream: Connection) -> str:
    await client.begin()
    stream.send("GET", "/mcp", f"Accept: text/event-stream\r\n{client.session}{AUTHORIZATION}")
    head = await stream.reader.readuntil(b"\r\n\r\n")
    return "ok" if b" 200 " in head.split(b"\r\n")[0] else head.decode()


@contextlib.contextmanager
def serving(archives: list[Path], settings: dict[str, str], *arguments: str) -> Iterator[tuple[HttpServer, Path]]:
    """Serve copies of archives from a folder of their own."""
    with tempfile.TemporaryDirectory() as name:
        for archive in archives:
            shutil.copy(archive, name)
        with HttpServer.running([*SERVE, *arguments, name], **settings) as server:
            yield server, Path(name)


async def measure_leaver(options: argparse.Namespace) -> str:
    """Read pages while another client asks many questions over all archives and hangs up."""
    quiet, attacked = Waits(), Waits()
    with tempfile.TemporaryDirectory() as name:
        write_small_archives(Path(name), options.archives)
        with HttpServer.running([*SERVE, name], RATE_LIMIT__ENABLED="true") as server:
            async with Connection.open(server.port, "127.0.0.2") as connection:
                reader = Client(connection)
                await reader.begin()
                for round_number in range(options.rounds):
                    await _read_pages(reader, quiet, round_number, 10)
                    leaver = asyncio.create_task(_ask_and_leave(server, round_number))
                    await _read_pages(reader, attacked, round_number + options.rounds, 10)
                    await leaver
                    await asyncio.sleep(2)
    times = attacked.quantile(0.5) / quiet.quantile(0.5), attacked.quantile(0.95) / quiet.quantile(0.95)
    rows = [["quiet", *quiet.cells], [f"{LEFT_QUESTIONS} questions left behind", *attacked.cells]]
    head = table([f"`zim_get` of another client, {options.archives} archives", *WAIT_COLUMNS], rows)
    return f"{head}\n\nMedian {times[0]:.1f} times the quiet one, 95 % {times[1]:.1f} times; goal: three."


async def _read_pages(client: Client, waits: Waits, round_number: int, count: int) -> None:
    for number in range(count):
        page = round_number * count + number
        arguments = {"zim_file_path": f"small{page // 10 % 300:03}", "entry_path": f"Town{page % 10}"}
        await waits.measure(client.call("zim_get", arguments))
        await asyncio.sleep(0.3)


async def _ask_and_leave(server: HttpServer, round_number: int) -> None:
    for number in range(LEFT_QUESTIONS):
        async with Connection.open(server.port, "127.0.0.3") as connection:
            client = Client(connection)
            await client.begin()
            query = f"Who founded the town of {round_number}-{number} by the river?"
            message = client.message("tools/call", {"name": "zim_query", "arguments": {"query": query}})
            connection.send("POST", "/mcp", *message)
            await asyncio.sleep(LEFT_AFTER_SECONDS)


async def measure_unread(_options: argparse.Namespace) -> str:
    """Ask for a large file over many connections that never read, and leave."""
    with tempfile.TemporaryDirectory() as name:
        text = base64.b64encode(random.Random(5).randbytes(7_000_000)).decode()[:7_000_000]
        write_zim(Path(name) / "large.zim", {"file.txt": text})
        with HttpServer.running([*SERVE, name]) as server:
            async with Connection.open(server.port) as connection:
                client = Client(connection)
                await client.begin()
                await client.call("zim_get", {"entry_path": "file.txt", "binary": True})
                rows = [["before", *Usage.of(server).cells]]
                async with AsyncExitStack() as stack:
                    for number in range(UNREAD_CONNECTIONS):
                        source = f"127.0.3.{1 + number % 20}"
                        unread = await stack.enter_async_context(Connection.open(server.port, source))
                        unread.writer.transport.pause_reading()  # type: ignore[attr-defined]
                        params = {"name": "zim_get", "arguments": {"entry_path": "file.txt", "binary": True}}
                        unread.send("POST", "/mcp", *client.message("tools/call", params))
                    await asyncio.sleep(15)
                    rows.append([f"{UNREAD_CONNECTIONS} connections do not read", *Usage.of(server).cells])
                await asyncio.sleep(15)
                rows.append(["after they left", *Usage.of(server).cells])
    return table(
        ["19 MB asked for by each", "server, MB", "worker processes, MB", "file descriptors", "processes"], rows
    )


async def measure_frames(options: argparse.Namespace) -> str:
    """Send random frames, valid and invalid, over both transports, while another client reads."""
    rows = [["HTTP", *(await _frames_over_http(options)).cells], ["stdio", *(await _frames_over_stdio(options)).cells]]
    head = f"{FRAMES_PER_SECOND} random frames a second, {options.minutes:g} minutes each"
    return table([head, *WAIT_COLUMNS], rows)


async def _frames_over_http(options: argparse.Namespace) -> Waits:
    waits = Waits()
    end_time = time.monotonic() + options.minutes * 60
    with serving([SQLITE], {}) as (server, _):
        attackers = [_post_frames(server, number, end_time) for number in range(4)]
        await asyncio.gather(*attackers, _read_titles(server, waits, end_time))
    return waits


async def _post_frames(server: HttpServer, seed: int, end_time: float) -> None:
    pause = 4 / FRAMES_PER_SECOND
    for frame in _endless_frames(seed):
        if time.monotonic() > end_time:
            return
        headers = HEADERS + random.Random(frame).choice(["", f"MCP-Protocol-Version: {INITIALIZE_VERSION}\r\n"])
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
            async with Connection.open(server.port, f"127.0.4.{seed + 1}") as connection:
                await asyncio.wait_for(connection.request("POST", "/mcp", headers, frame), 5)
        await asyncio.sleep(pause)


def _endless_frames(seed: int) -> Iterator[bytes]:
    while True:
        yield from random_frames(10_000, seed)
        seed += 1000


async def _read_titles(server: HttpServer, waits: Waits, end_time: float) -> None:
    titles = workload(SQLITE).titles
    async with Connection.open(server.port, "127.0.5.1") as connection:
        client = Client(connection)
        await client.begin()
        while time.monotonic() < end_time:
            path = titles[len(waits.seconds) % len(titles)][0]
            await waits.measure(client.call("zim_get", {"entry_path": path}))
            await asyncio.sleep(0.2)


async def _frames_over_stdio(options: argparse.Namespace) -> Waits:
    """Send frames and, on the same pipe, calls; there is no other client on stdio."""
    waits = Waits()
    server = Server.start([*OURS, "--mode", "advanced", str(SQLITE)])
    server.initialize()
    assert server.process.stdin
    assert server.process.stdout
    titles = workload(SQLITE).titles
    end_time = time.monotonic() + options.minutes * 60
    frames = _endless_frames(7)
    while time.monotonic() < end_time:
        for _ in range(FRAMES_PER_SECOND // 5):
            frame = next(frames)
            if b"subscriptions/listen" not in frame and b"initialize" not in frame:
                server.process.stdin.write(frame.replace(b"\n", b" ") + b"\n")
        path = titles[len(waits.seconds) % len(titles)][0]
        await waits.measure(asyncio.to_thread(_call_over_stdio, server, path))
        await asyncio.sleep(0.2)
    server.stop()
    return waits


def _call_over_stdio(server: Server, path: str) -> str:
    server.calls += 1_000_000  # an id that no random frame has
    response = server.request("tools/call", {"name": "zim_get", "arguments": {"entry_path": path}})
    return "error" if "error" in response or response["result"].get("isError") else "ok"


async def measure_soak(options: argparse.Namespace) -> str:
    """Serve mixed use while archives come and go and worker processes are killed."""
    rows = []
    chaos: Counter[str] = Counter()
    with serving([SQLITE, LARGE], {"RATE_LIMIT__ENABLED": "false"}) as (server, folder):
        workloads = [Workload(folder / path.name, work.titles, work.questions) for path, work in _works()]
        use = MixedUse(server, workloads, options.minutes * 60)
        clients = asyncio.create_task(use.run(16))
        trouble = asyncio.create_task(_make_trouble(server, folder, chaos))
        for part in range(4):
            await asyncio.sleep(options.minutes * 15 - (2 if part == 3 else 0))
            rows.append([f"{options.minutes * 15 * (part + 1):.0f} s", *Usage.of(server).cells])
        await clients
        trouble.cancel()
        await asyncio.sleep(5)
        rows.append(["after the last client left", *Usage.of(server).cells])
    header = ["18 clients", "server, MB", "worker processes, MB", "file descriptors", "processes"]
    print(*use.failures, sep="\n", file=sys.stderr)
    return f"{table(header, rows)}\n\nResults: {_describe(use.results)}. Meanwhile: {_describe(chaos)}."


def _works() -> list[tuple[Path, Any]]:
    return [(path, workload(path)) for path in (SQLITE, LARGE)]


async def _make_trouble(server: HttpServer, folder: Path, chaos: Counter[str]) -> None:
    """Add, replace, truncate and remove archives, and kill a worker process every ten seconds."""
    guest = folder / "guest.zim"
    source = SQLITE.read_bytes()
    for number in range(10**6):
        step = ("added", "replaced", "truncated", "removed")[number % 4]
        if step == "removed":
            guest.unlink()
        else:
            content = source[: len(source) // 2] if step == "truncated" else source
            (folder / "guest.tmp").write_bytes(content)
            (folder / "guest.tmp").rename(guest)
        chaos[f"archives {step}"] += 1
        if number % 5 == 4:
            workers = list(process_tree(server.process.pid))[1:]
            with contextlib.suppress(ProcessLookupError):
                os.kill(random.Random(number).choice(workers), signal.SIGKILL)
                chaos["workers killed"] += 1
        await asyncio.sleep(2)


SCENARIOS: dict[str, Callable[[argparse.Namespace], Coroutine[Any, Any, str]]] = {
    "nesting": measure_nesting,
    "leaver": measure_leaver,
    "unread": measure_unread,
    "crowd": measure_crowd,
    "frames": measure_frames,
    "soak": measure_soak,
}


def main() -> None:
    """Run the scenarios and write the report of each, or print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=SCENARIOS, help="run one scenario")
    parser.add_argument("--print", action="store_true", help="print the results only")
    parser.add_argument("--minutes", type=float, default=10, help="minutes of the long runs (10)")
    parser.add_argument("--archives", type=int, default=300, help="archives of the leaver's server (300)")
    parser.add_argument("--rounds", type=int, default=6, help="rounds of quiet and attacked calls (6)")
    options = parser.parse_args()
    for name in [options.only] if options.only else SCENARIOS:
        body = asyncio.run(SCENARIOS[name](options))
        if options.print:
            print(body, flush=True)
        else:
            report(f"hardening_{name}", shlex.join(["python", "benchmarks/hardening.py", *sys.argv[1:]]), body)


if __name__ == "__main__":
    main()
