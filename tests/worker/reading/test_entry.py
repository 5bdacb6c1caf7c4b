from __future__ import annotations

import base64
from pathlib import Path

import pytest

from openzim_mcp import errors
from openzim_mcp.calls.reading import BinaryEntry, ReadBinary, ReadRawEntry
from openzim_mcp.worker.reading.entry import read_binary, read_raw_entry
from openzim_mcp.worker.zim import Archive


def test_binary_entry_is_base64(towns: Archive) -> None:
    entry = read_binary(towns, ReadBinary("maps/ravenport.png"))

    assert base64.b64decode(entry.data) == b"not really a picture"
    assert entry == BinaryEntry(
        "maps/ravenport.png", "maps/ravenport.png", "image/png", size=20, encoding="base64", data=entry.data
    )


def test_too_large_entry_error_has_the_size(zims: Path) -> None:
    archive = Archive("nasty", [str(zims / "built/nasty_pub.zim")])
    large = next(
        entry.path
        for entry in map(archive.entry_by_id, archive.namespaces["C"])
        if entry.mime_type == "application/octet-stream"
    )

    with pytest.raises(errors.EntryTooLarge) as caught:
        read_binary(archive, ReadBinary(large))

    assert caught.value.details == {"size": 12 << 20, "cap": 10 << 20}


def test_raw_entry_is_text_or_base64(towns: Archive) -> None:
    page = read_raw_entry(towns, ReadRawEntry(["Ravenport"]))
    picture = read_raw_entry(towns, ReadRawEntry(["maps/ravenport.png"]))

    assert (page.mime_type, page.blob) == ("text/html", None)
    assert page.text is not None
    assert page.text.startswith("<h1>Ravenport</h1>")
    assert (picture.mime_type, picture.text, picture.size) == ("image/png", None, 20)
    assert base64.b64decode(picture.blob or "") == b"not really a picture"


@pytest.mark.parametrize("path", ["Port", "A/Ravenport", "C/Ravenport", "C/Port"])
def test_raw_entry_follows_redirects_and_ignores_namespaces(towns: Archive, path: str) -> None:
    assert read_raw_entry(towns, ReadRawEntry([path])).path == "Ravenport"


def test_first_existing_path_is_read(towns: Archive) -> None:
    assert read_raw_entry(towns, ReadRawEntry(["nothing", "Alderwick", "Ravenport"])).path == "Alderwick"


def test_raw_entry_needs_an_exact_path(towns: Archive) -> None:
    with pytest.raises(errors.EntryNotFound, match="has no entry 'ravenport'"):
        read_raw_entry(towns, ReadRawEntry(["ravenport"]))
