"""A LlamaIndex reader for the API: loads articles of ZIM archives by a question or by their titles.

documents = ZimHttpReader("http://127.0.0.1:8000").load_data(question="how is coffee roasted?")
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from llama_index.core.readers.base import BaseReader
from llama_index.core.schema import Document

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class ZimHttpReader(BaseReader):
    """Loads what `openzim-mcp serve` offers under /api/v1."""

    def __init__(self, base_url: str, token: str | None = None) -> None:
        self._base_url = base_url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def lazy_load_data(
        self, *, question: str | None = None, titles: Sequence[str] = (), archive: str | None = None
    ) -> Iterable[Document]:
        """Yield the passages that answer a question, then the articles of these titles."""
        if question:
            answer = self._get("ask", q=question, archive=archive)
            for row in answer["passages"]:
                yield _to_document(row["text"], row)
        for title in titles:
            article = self._get("read", ref=title, archive=archive)
            yield _to_document(article["markdown"], article)

    def _get(self, endpoint: str, **parameters: str | None) -> dict[str, Any]:
        query = urlencode({name: value for name, value in parameters.items() if value})
        request = Request(f"{self._base_url}/api/v1/{endpoint}?{query}", headers=self._headers)  # noqa: S310
        with urlopen(request, timeout=60) as response:  # noqa: S310
            result: dict[str, Any] = json.load(response)
        return result


def _to_document(text: str, row: dict[str, Any]) -> Document:
    metadata = {"title": row["title"], "archive": row["archive"], "source": row["url"], "uri": row["uri"]}
    return Document(text=text, metadata=metadata)
