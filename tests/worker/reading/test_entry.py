from __future__ import annotations

import base64

import pytest

from openzim_mcp import errors
from openzim_mcp.worker.reading import entry
from openzim_mcp.worker.zim import Archive


def test_text_is_text_and_the_rest_is_bytes(towns: Archive) -> None:
    page = entry.native(towns, ["Ravenport"])
    picture = entry.native(towns, ["maps/ravenport.png"])

    assert (page.mime_type, page.blob) == ("text/html", None)
    assert page.text is not None
    assert page.text.startswith("<h1>Ravenport</h1>")
    assert (picture.mime_type, picture.text, picture.size) == ("image/png", None, 20)
    assert base64.b64decode(picture.blob or "") == b"not really a picture"


@pytest.mark.parametrize("spelling", ["Port", "A/Ravenport", "C/Ravenport", "C/Port"])
def test_redirects_are_followed_and_namespaces_forgiven(towns: Archive, spelling: str) -> None:
    assert entry.native(towns, [spelling]).path == "Ravenport"


def test_the_first_spelling_that_there_is_counts(towns: Archive) -> None:
    assert entry.native(towns, ["nothing", "Alderwick", "Ravenport"]).path == "Alderwick"


def test_a_title_or_a_slip_is_not_a_path(towns: Archive) -> None:
    with pytest.raises(errors.EntryNotFound, match="has no entry 'ravenport'"):
        entry.native(towns, ["ravenport"])
