"""The two indexes that an archive may have, of titles and of full text, as libzim searches them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from cachetools import LRUCache
from libzim.search import Query, Searcher
from libzim.suggestion import SuggestionSearcher

if TYPE_CHECKING:
    from collections.abc import Sequence

    from libzim.reader import Archive as ZimArchive

    from openzim_mcp.worker.zim.libzim_errors import ErrorTranslator

_CACHED_FREQUENCIES = 20_000


class SearchIndexes:
    """The title index and the full-text index; each is opened when it is first asked."""

    def __init__(self, zim: ZimArchive, translated_errors: ErrorTranslator) -> None:
        self._zim = zim
        self._translated_errors = translated_errors
        self._frequencies: LRUCache[str, int] = LRUCache(_CACHED_FREQUENCIES)

    @cached_property
    def _suggestions(self) -> SuggestionSearcher:
        return SuggestionSearcher(self._zim)

    @cached_property
    def _searcher(self) -> Searcher:
        return Searcher(self._zim)

    @cached_property
    def has_fulltext_index(self) -> bool:
        """Whether full-text search can work."""
        with self._translated_errors():
            return bool(self._zim.has_fulltext_index)

    @cached_property
    def has_title_index(self) -> bool:
        """Whether suggestions can work."""
        with self._translated_errors():
            return bool(self._zim.has_title_index)

    def suggest_paths(self, text: str, limit: int) -> list[str]:
        """Return the paths of entries with a title, or a word of it, that starts with the text."""
        with self._translated_errors():
            return list(self._suggestions.suggest(text).getResults(0, limit))

    def search_paths(self, words: str, limit: int) -> list[str]:
        """Return the paths of articles that contain all the words, the best first."""
        if not self.has_fulltext_index:
            return []
        with self._translated_errors():
            return list(self._searcher.search(Query().set_query(words)).getResults(0, limit))

    def frequency(self, words: str) -> int:
        """Return how many articles contain the words; for several words it is an estimate."""
        if not self.has_fulltext_index:
            return 0
        count = self._frequencies.get(words)
        if count is None:
            with self._translated_errors():
                count = int(self._searcher.search(Query().set_query(words)).getEstimatedMatches())
            self._frequencies[words] = count
        return count

    def probe(self, words: Sequence[str]) -> None:
        """Search each index for some words, so that a damaged one fails now."""
        for word in words:
            if self.has_title_index:
                self.suggest_paths(word, 5)
            if self.has_fulltext_index:
                self.search_paths(word, 5)
