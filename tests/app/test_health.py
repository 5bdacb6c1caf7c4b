from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.stdio_server import StdioServer

OpenServer = Callable[..., StdioServer]


def test_report_has_the_documented_fields(open_server: OpenServer, town_zim: Path) -> None:
    report = open_server(town_zim.parent, INDEX__ENABLED="false").call("zim_health")

    health, configuration = report["health"], report["configuration"]
    assert health["status"] == "healthy"
    assert health["uptime_info"]["process_id"] == "[REDACTED]"
    assert health["health_checks"] == {"directories_accessible": 1, "zim_files_found": 1, "permissions_ok": True}
    assert (health["recommendations"], health["warnings"]) == ([], [])
    assert set(health) >= {"timestamp", "server_name", "cache_performance"}
    assert configuration["server_pid"] == "[REDACTED]"
    assert configuration["allowed_directories"] == [f"...{town_zim.parent.name}"]
    assert len(configuration["config_hash"]) == 64
    assert report["loaded_archives"] == [
        {
            "name": "towns_en_all_2026-01.zim",
            "path": "...towns_en_all_2026-01.zim",
            "size": town_zim.stat().st_size,
            "modified": report["loaded_archives"][0]["modified"],
            "status": "ok",
            "index": {"state": "off", "done": 0, "of": 0},
            "title": "Test",
            "language": "eng",
            "articles": 3,
        }
    ]


def test_unreadable_archives_degrade_the_server(open_server: OpenServer, zims: Path, tmp_path: Path) -> None:
    damaged = shutil.copytree(zims / "damaged", tmp_path / "damaged")
    for file in damaged.iterdir():
        os.utime(file, (0, 0))  # a file that was changed just now counts as still being written
    report = open_server(damaged).call("zim_health")

    unusable = {row["name"]: row["reason"] for row in report["loaded_archives"] if row["status"] == "unusable"}
    assert report["health"]["status"] == "degraded"
    assert unusable["not_a_zim.zim"] == "not a ZIM file: the first bytes are something else"
    assert unusable["truncated_half.zim"] == "incomplete: 354273 of 708546 bytes"
    assert "more memory" in unusable["decompression_bomb.zim"]
    assert "bad_checksum.zim" not in unusable
    assert "truncated_half.zim" in report["health"]["warnings"][0]


def test_report_is_short_with_any_number_of_archives(open_server: OpenServer, town_zim: Path, tmp_path: Path) -> None:
    for number in range(110):
        (tmp_path / f"a_broken{number}.zim").write_bytes(b"not an archive" * 100)
    shutil.copy(town_zim, tmp_path)
    report = open_server(tmp_path).call("zim_health")

    assert len(report["loaded_archives"]) == 100
    assert {row["status"] for row in report["loaded_archives"]} == {"unusable"}
    assert report["archives_not_listed"] == 11
    assert report["health"]["health_checks"]["zim_files_found"] == 111
    assert len(json.dumps(report)) < 30_000


def test_empty_directory_is_degraded_and_missing_one_unhealthy(open_server: OpenServer, tmp_path: Path) -> None:
    directory = tmp_path / "zims"
    directory.mkdir()
    server = open_server(directory)

    empty = server.call("zim_health")["health"]
    directory.rmdir()
    missing = server.call("zim_health")["health"]

    assert (empty["status"], empty["recommendations"]) == (
        "degraded",
        ["Put a .zim file into a served directory; it is found at once."],
    )
    assert (missing["status"], missing["warnings"]) == (
        "unhealthy",
        ["zims: does not exist; it is served as soon as it appears"],
    )


def test_rejected_links_are_reported(open_server: OpenServer, town_zim: Path, tmp_path: Path) -> None:
    (tmp_path / "out.zim").symlink_to(town_zim)

    health = open_server(tmp_path).call("zim_health")["health"]

    assert health["warnings"] == [
        "out.zim: symbolic link that leaves the allowed directories; "
        "--follow-links (OPENZIM_MCP_FOLLOW_LINKS=true) follows it"
    ]
    assert health["health_checks"]["permissions_ok"] is False


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "built/se_coffee.zim",
            {
                "is_valid": True,
                "verification": "the checksum matches",
                "has_checksum": True,
                "has_fulltext_index": True,
                "has_title_index": True,
                "indexes_answer": True,
                "uuid": "5b6446db-2564-6e92-5cf2-893714b2ac92",
                "is_multipart": False,
                "problems": [],
                "quarantine": [],
            },
        ),
        ("built/noindex.zim", {"is_valid": True, "has_fulltext_index": False, "indexes_answer": None}),
        (
            "real/wikipedia_en_ray_charles_2015-06_split.zimaa",
            {"is_valid": True, "is_multipart": True, "name": "wikipedia_en_ray_charles_2015-06_split.zim"},
        ),
        ("damaged/bad_checksum.zim", {"is_valid": False, "indexes_answer": True, "problems": []}),
        (
            "damaged/truncated_half.zim",
            {"is_valid": False, "verification": "cannot be opened", "uuid": None, "indexes_answer": None},
        ),
        (
            "damaged/index_bytes_segfault_suggest.zim",
            {
                "is_valid": False,
                "indexes_answer": False,
                "quarantine": [{"scope": "index", "reason": "it crashed the reader (SIGSEGV)"}],
            },
        ),
    ],
)
def test_report_of_an_archive_has_its_verification(
    open_server: OpenServer, zims: Path, name: str, expected: dict[str, Any]
) -> None:
    server = open_server(zims / Path(name).parent)

    report = server.call("zim_health", zim_file_path=Path(name).stem)

    assert {key: report[key] for key in expected} == expected
    assert report["path"].startswith("...")


def test_quarantined_index_is_listed(open_server: OpenServer, zims: Path) -> None:
    server = open_server(zims / "damaged/index_bytes_segfault_suggest.zim")

    server.call("zim_health", zim_file_path="index_bytes_segfault_suggest")
    (row,) = server.call("zim_health")["loaded_archives"]

    assert row["status"] == "no_search"
    assert row["reason"] == "the search index is quarantined: it crashed the reader (SIGSEGV)"


def test_metadata_shows_an_earlier_verification(open_server: OpenServer, zims: Path) -> None:
    server = open_server(zims / "damaged/bad_checksum.zim")

    before = server.call("zim_metadata")["verification"]
    server.call("zim_health", zim_file_path="bad_checksum")
    after = server.call("zim_metadata")["verification"]

    assert (before, after) == ("unverified", "damaged")


def test_verification_reports_progress_if_requested(open_server: OpenServer, zims: Path) -> None:
    server = open_server(zims / "built/dictionary_pub.zim")
    arguments = {"zim_file_path": "dictionary_pub"}

    params = {"name": "zim_health", "arguments": arguments, "_meta": {"progressToken": "t1"}}
    report = server.request("tools/call", params)["structuredContent"]

    progress = [n["params"] for n in server.notifications if n["method"] == "notifications/progress"]
    assert report["is_valid"] is True
    assert progress
    assert {note["progressToken"] for note in progress} == {"t1"}
    assert all(note["progress"] <= note["total"] for note in progress)


def test_archive_of_a_worker_that_waits_is_not_quarantined(open_server: OpenServer, town_zim: Path) -> None:
    server = open_server(town_zim, WORKER__DEADLINE_SECONDS="8", CACHE__ENABLED="false")
    server.call("zim_metadata")
    for pid in server.worker_pids:
        os.kill(pid, signal.SIGSTOP)

    slow = server.call("zim_metadata")
    again = server.call("zim_metadata")
    report = server.call("zim_health", zim_file_path=town_zim.stem)

    assert slow["operation"] == "archive_too_slow"
    assert (report["is_valid"], report["quarantine"]) == (True, [])
    assert again["metadata"]["Title"] == "Test"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processor time is read from /proc")
def test_cancelled_verification_stops_reading(open_server: OpenServer, tmp_path: Path, zims: Path) -> None:
    big = tmp_path / "big.zim"
    big.write_bytes((zims / "built/se_coffee.zim").read_bytes())
    with big.open("r+b") as file:
        file.seek(72)  # the position of the checksum in the header
        file.write((20_000_000_000).to_bytes(8, "little"))
        file.truncate(20_000_000_016)
    server = open_server(tmp_path)
    params = {
        "name": "zim_health",
        "arguments": {"zim_file_path": "big"},
        "_meta": {"progressToken": "t"},
    }
    number = server.send_request("tools/call", params)
    assert server.wait_for_notification("notifications/progress")
    assert server.wait_for_notification("notifications/progress")

    server.notify("notifications/cancelled", requestId=number)

    def cpu_ticks() -> int:
        stat = Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(stat[11]) + int(stat[12])

    time.sleep(0.5)
    before = cpu_ticks()
    time.sleep(2)
    assert cpu_ticks() - before < 0.5 * os.sysconf("SC_CLK_TCK")
