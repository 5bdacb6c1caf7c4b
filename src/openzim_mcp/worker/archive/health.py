"""Check an archive: whether it opens, and whether its entries and indexes can be read."""

from __future__ import annotations

import base64
import contextlib
from typing import TYPE_CHECKING

from openzim_mcp import errors
from openzim_mcp.calls.archive import Description, PassageIndexCheck
from openzim_mcp.text import safe_line
from openzim_mcp.worker.archive.kind import archive_kind
from openzim_mcp.worker.reading.document_titles import has_documents
from openzim_mcp.worker.search import passage_index

if TYPE_CHECKING:
    from openzim_mcp.calls.archive import CheckPassageIndex, Describe, ProbeIndexes, SampleEntries
    from openzim_mcp.worker.zim import Archive

_PROBED_TITLES = 5
_SAMPLED_ENTRIES = 50
_MAX_SAMPLE_BYTES = 4 << 20
_ICON_PIXELS = 48
_MAX_ICON_BYTES = 8 << 10
_PNG = b"\x89PNG\r\n\x1a\n"


def describe(archive: Archive, _call: Describe) -> Description:
    """Read the first and last entries of each namespace, and describe the archive."""
    for ids in archive.namespaces.values():
        archive.path_by_id(ids[0])
        archive.path_by_id(ids[-1])
    icon = archive.illustration(_ICON_PIXELS, _MAX_ICON_BYTES)
    return Description(
        title=safe_line(archive.metadata_text("Title"), 200),
        description=safe_line(archive.metadata_text("Description"), 300),
        language=safe_line(archive.languages, 50),
        date=safe_line(archive.metadata_text("Date"), 20),
        icon=base64.b64encode(icon).decode() if icon.startswith(_PNG) else "",
        uuid=archive.uuid,
        articles=archive.counts["articles"],
        main_path=archive.main_path,
        has_checksum=archive.has_checksum,
        checksum=archive.checksum if archive.has_checksum else None,
        has_fulltext_index=archive.has_fulltext_index,
        has_title_index=archive.has_title_index,
        is_multipart=archive.is_multipart,
        kind=archive_kind(archive),
    )


def sample_entries(archive: Archive, _call: SampleEntries) -> int:
    """Read entries from all over the archive, and return how many; a damaged one fails here."""
    ids = archive.content
    sample = ids[:: max(1, len(ids) // _SAMPLED_ENTRIES)][:_SAMPLED_ENTRIES]
    for number in sample:
        with contextlib.suppress(errors.RedirectLoop):
            item = archive.find_entry(archive.path_by_id(number))
            if item and item.size <= _MAX_SAMPLE_BYTES:
                archive.read_content(item.path)
    return len(sample)


def probe_indexes(archive: Archive, _call: ProbeIndexes) -> bool:
    """Search the indexes for words from titles all over the archive; a damaged index fails here."""
    ids = max(archive.namespaces.values(), key=len, default=range(0))
    sample = ids[:: max(1, len(ids) // _PROBED_TITLES)][:_PROBED_TITLES]
    words = [word for number in sample for word in archive.entry_by_id(number).title.split()[:1]]
    archive.probe_indexes(words or ["a"])
    return True


def check_passage_index(archive: Archive, _call: CheckPassageIndex) -> PassageIndexCheck:
    """Say what the index of an archive's passages is for, and whether it is there."""
    is_for_search = passage_index.tokens_of(archive) == "trigrams" or has_documents(archive)
    return PassageIndexCheck(is_for_search, passage_index.read_state(archive))
