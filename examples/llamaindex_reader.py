"""A LlamaIndex reader: articles of ZIM archives as documents, to be indexed.

Needs `llama-index-core`. Run it with a directory of archives, and the name of one of them:

    python examples/llamaindex_reader.py ~/zims isles_en_all
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from llama_index.core.node_parser import MarkdownNodeParser
from llama_index.core.readers.base import BaseReader
from llama_index.core.schema import Document

from openzim_mcp import Library

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class ZimReader(BaseReader):
    """Loads the articles that are named by path, title or URI; if none is named, all articles of an archive."""

    def __init__(self, library: Library) -> None:
        self.library = library

    def lazy_load_data(
        self, archive: str | None = None, refs: Iterable[str] | None = None, **_options: Any
    ) -> Iterator[Document]:
        """Yield a document per article, without loading the others."""
        for ref in (row.path for row in self.library.articles(archive)) if refs is None else refs:
            article = self.library.read(ref, archive=archive)
            yield Document(
                text=article.text,
                doc_id=article.uri,
                metadata={"title": article.title, "archive": article.archive, "source": article.uri},
                excluded_llm_metadata_keys=["archive"],
            )


def main(directory: str, archive: str | None = None) -> None:
    """Print the sections of the articles, as an index would get them."""
    with Library(directory) as library:
        documents = ZimReader(library).load_data(archive=archive)
    nodes = MarkdownNodeParser().get_nodes_from_documents(documents)
    for node in nodes:
        print(f"{node.metadata['source']}: {node.get_content()[:60]!r}")
    print(f"{len(documents)} articles, {len(nodes)} nodes")


if __name__ == "__main__":
    main(*sys.argv[1:3])
