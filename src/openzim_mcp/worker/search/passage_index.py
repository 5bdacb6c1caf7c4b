"""Which index of our own an archive gets, and whether it is there; `index_file.py` describes the file."""

from __future__ import annotations

import contextlib
import os
import weakref
from typing import TYPE_CHECKING

from openzim_mcp import errors, files
from openzim_mcp.languages import has_unsegmented_language, two_letter_code
from openzim_mcp.worker.reading.document_titles import document_titles, has_documents
from openzim_mcp.worker.search.index_file import DAMAGED, VERSION, IndexFile
from openzim_mcp.worker.search.trigram_index import TrigramIndex, tokenize_trigrams
from openzim_mcp.worker.search.word_index import StemTokenizer, WordCounter, WordIndex
from openzim_mcp.worker.zim import OtherTexts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openzim_mcp.calls.archive import PassageIndexState
    from openzim_mcp.worker.search.index_file import Tokens
    from openzim_mcp.worker.zim import Archive
    from openzim_mcp.zimfile import Identity

_FILE_NAME = "passages.sqlite"
_open_indexes: weakref.WeakKeyDictionary[Archive, IndexFile] = weakref.WeakKeyDictionary()


def index_path(identity: Identity) -> str:
    """Return where the index of a file in this state is, or would be."""
    return os.path.join(files.archives_directory(), identity, _FILE_NAME)


def tokens_of(archive: Archive) -> Tokens:
    """Return what the tokens of an archive's index are: trigrams where its own index finds no words."""
    if not archive.has_fulltext_index or has_unsegmented_language(archive.languages):
        return "trigrams"
    return "english" if two_letter_code(archive.languages) == "en" else "stems"


def tokenizer(archive: Archive) -> Callable[[str], str]:
    """Return the function that turns a text of an archive into what is indexed."""
    tokens = tokens_of(archive)
    if tokens == "trigrams":
        return tokenize_trigrams
    return str if tokens == "english" else StemTokenizer(archive.languages)


def open_trigrams(archive: Archive) -> TrigramIndex | None:
    """Return the index of an archive by trigrams, if that is what it has; it stays open for as long as the archive."""
    index = _open_index(archive)
    return index if isinstance(index, TrigramIndex) else None


@contextlib.contextmanager
def using_words(archive: Archive) -> Iterator[WordIndex | None]:
    """Give the index of an archive by words, if that is what it has; one that turns out to be damaged is removed.

    What is done with a damaged index ends without a result, so that the caller goes on without it.
    """
    index = _open_index(archive)
    try:
        yield index if isinstance(index, WordIndex) else None
    except DAMAGED:
        if index is None:
            raise
        remove_index(archive)


def _open_index(archive: Archive) -> IndexFile | None:
    index = _open_indexes.get(archive)
    if index is None:
        index = _open_valid(archive)
        if index is None or index.state != "complete":
            return None
        _open_indexes[archive] = index
    return index


def count_documents(archive: Archive) -> None:
    """Let an archive count words also in documents that its own index does not have.

    As long as there is no index of our own, any word may stand in them.
    """
    if not has_documents(archive):
        return
    index = _open_index(archive)
    if isinstance(index, WordIndex):
        archive.other_texts = OtherTexts(index.passages, WordCounter(index, archive.languages))
    else:
        archive.other_texts = OtherTexts(len(document_titles(archive)), lambda _: 1)


def read_state(archive: Archive) -> PassageIndexState | None:
    """Return what the index of an archive is; None if it has to be built."""
    index = _open_indexes.get(archive) or _open_valid(archive)
    return index.state if index else None


def remove_index(archive: Archive) -> None:
    """Remove an index that turned out to be damaged, so that it is built again."""
    _open_indexes.pop(archive, None)
    with contextlib.suppress(OSError):
        os.unlink(index_path(archive.identity))


def _open_valid(archive: Archive) -> IndexFile | None:
    path = index_path(archive.identity)
    if not os.path.exists(path):
        return None
    with contextlib.suppress(*DAMAGED, errors.ArchiveUnusable):
        index = (TrigramIndex if tokens_of(archive) == "trigrams" else WordIndex)(path)
        if (index.version, index.uuid, index.tokens) == (str(VERSION), archive.uuid, tokens_of(archive)):
            return index
    return None
