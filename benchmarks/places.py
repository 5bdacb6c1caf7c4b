"""Places, and the same elsewhere: what collecting them costs per page, an index of a million places, summaries.

python benchmarks/places.py                  everything, into RESULTS.md
python benchmarks/places.py --only collect   one part (collect, near, elsewhere), printed
"""

from __future__ import annotations

import argparse
import os
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from measure import OURS, ROOT, Server, median, report, table

from openzim_mcp.worker.document import Coordinates
from openzim_mcp.worker.readers import is_page
from openzim_mcp.worker.readers.subject import extract_coordinates, extract_item
from openzim_mcp.worker.search import subject_index
from openzim_mcp.worker.zim import Archive

sys.path.insert(0, str(ROOT / "tests"))
from support.archives import write_zim

ARCHIVES = (
    "built/wiki_real_pub",
    "real/wikipedia_ay_all_nopic_2017-03",
    "real/wikipedia_ady_all_nopic_2026-02",
    "real/wikipedia_en_100_mini_2022-10",
    "built/dictionary_pub",
    "built/devdocs_python",
)
PLACES = 1_000_000
CITIES = 2000
RADII_KM = (1, 10, 100, 1000)
QUERIES = 60
SUMMARIES = 40


def measure_collecting() -> str:
    """Return the CPU time per page of finding coordinates and items in the bytes of pages."""
    rows = []
    for name in ARCHIVES:
        archive = Archive(name, [str(ROOT.parent / "shared" / "zims" / f"{name}.zim")])
        entries = (archive.entry_by_id(number) for number in archive.content)
        pages = [archive.read_content(row.path) for row in entries if not row.redirect_to and is_page(row.mime_type)]
        started = time.process_time()
        found = [(extract_coordinates(raw), extract_item(raw)) for raw in pages]
        seconds, size = time.process_time() - started, sum(map(len, pages))
        places, items = (sum(row[column] is not None for row in found) for column in (0, 1))
        counts = [f"{len(pages):,}", f"{size / 1e6:.1f}", str(places), str(items)]
        speeds = [f"{seconds / len(pages) * 1e6:.0f}", f"{size / seconds / 1e6:,.0f}"]
        rows.append([Path(name).name, *counts, *speeds])
    return table(["archive", "pages", "MB", "places", "items", "CPU µs per page", "MB/s"], rows)


def measure_near() -> str:
    """Return size and query times of an index with a million places, most of them in cities."""
    numbers = random.Random(1)
    cities = [Coordinates(numbers.uniform(-60, 70), numbers.uniform(-180, 180)) for _ in range(CITIES)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "places.sqlite")
        database = sqlite3.connect(path, isolation_level=None)
        database.executescript(f"{subject_index.SCHEMA} BEGIN;")
        started = time.process_time()
        subject_index.add_places(database, ((number, _scatter(numbers, cities)) for number in range(PLACES)))
        database.execute("COMMIT")
        seconds = time.process_time() - started
        rows = [_measure_radius(database, cities, radius) for radius in RADII_KM]
        size = os.path.getsize(path)
    head = f"{PLACES:,} places: written in {seconds:.1f} s of CPU, {size / PLACES:.0f} bytes each.\n\n"
    return head + table(["radius, km", "places found, median", "CPU ms, median", "CPU ms, highest"], rows)


def _scatter(numbers: random.Random, cities: list[Coordinates]) -> Coordinates:
    city = numbers.choice(cities)
    longitude = city.longitude + numbers.gauss(0, 0.2)
    return Coordinates(city.latitude + numbers.gauss(0, 0.1), (longitude + 180) % 360 - 180)


def _measure_radius(database: sqlite3.Connection, cities: list[Coordinates], radius_km: float) -> list[str]:
    counts, times = [], []
    for center in cities[:QUERIES]:
        started = time.process_time()
        near = subject_index.find_near(database, center, radius_km * 1000)
        times.append((time.process_time() - started) * 1000)
        counts.append(float(len(near.rows)))
    return [str(radius_km), f"{median(counts):.0f}", f"{median(times):.1f}", f"{max(times):.1f}"]


def measure_elsewhere() -> str:
    """Return what a summary costs with other archives to look in, of which a half have the article."""
    rows = []
    for count in (1, 10, 100):
        with tempfile.TemporaryDirectory() as folder:
            _write_library(Path(folder), count)
            settings = {"RATE_LIMIT__ENABLED": "false", "INDEX__ENABLED": "false"}
            server = Server.start([*OURS, "--mode", "advanced", folder], **settings)
            server.initialize()
            server.call("zim_health")
            times = [_cpu(server, view=view) for view in ("full", "summary", "summary")]
            result = server.call("zim_get", **_entry(0), view="summary")["structuredContent"]
            server.stop()
        rows.append([str(count), str(len(result.get("elsewhere", ()))), *(f"{value:.1f}" for value in times)])
    return table(["archives", "elsewhere", "article, CPU ms", "summary, CPU ms", "the same again"], rows)


def _write_library(folder: Path, count: int) -> None:
    text = "<p>" + "A person of some importance. " * 40 + "</p>"
    for number in range(count):
        titles = [f"Ada_Person_{page}" for page in range(SUMMARIES)] if number % 2 == 0 else ["Nobody"]
        name = f"wikipedia_en_part{number}"
        write_zim(folder / f"{name}.zim", dict.fromkeys(("Main", *titles), text), metadata={"Name": name})


def _entry(number: int) -> dict[str, str]:
    return {"entry_path": f"Ada_Person_{number}", "zim_file_path": "wikipedia_en_part0"}


def _cpu(server: Server, view: str) -> float:
    """Return the CPU time of reading an entry in all processes of a server."""
    before = server.cpu()
    for number in range(SUMMARIES):
        server.call("zim_get", **_entry(number), view=view)
    return (server.cpu() - before) / SUMMARIES


PARTS: dict[str, Callable[[], str]] = {
    "collect": measure_collecting,
    "near": measure_near,
    "elsewhere": measure_elsewhere,
}


def main() -> None:
    """Measure the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS)
    only = parser.parse_args().only
    if only:
        sys.stdout.write(f"{PARTS[only]()}\n")
        return
    report("places", "python benchmarks/places.py", "\n\n".join(measure() for measure in PARTS.values()))


if __name__ == "__main__":
    main()
