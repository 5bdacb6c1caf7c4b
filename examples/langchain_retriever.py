"""A LangChain retriever: the passages of ZIM archives that answer a question, or none if they do not answer it.

Needs `langchain-core`. Run it with a directory of archives and a question:

    python examples/langchain_retriever.py ~/zims "Who founded Ravenport?"
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from langchain_core.documents import Document
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnablePassthrough
from pydantic import ConfigDict

from openzim_mcp import Library

if TYPE_CHECKING:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun


class ZimRetriever(BaseRetriever):
    """Retrieves passages; LangChain calls it in a thread where it is awaited."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    library: Library
    archive: str | None = None
    budget: int | str = "medium"
    """How many tokens all passages of a question may have together."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        answer = self.library.ask(query, archive=self.archive, budget=self.budget)
        run_manager.on_text(f"answered: {answer.answered}, confidence: {answer.confidence}")
        if not answer.answered:
            return []
        return [
            Document(
                passage.text,
                id=f"{passage.uri}#{number}",
                metadata={
                    "source": passage.uri,
                    "title": passage.title,
                    "section": passage.section,
                    "archive": passage.archive,
                    "score": passage.score,
                },
            )
            for number, passage in enumerate(answer.passages, 1)
        ]


def format_passages(documents: list[Document]) -> str:
    """Return passages for a prompt, each with its source."""
    return "\n\n".join(f"{row.page_content}\nSource: {row.metadata['source']}" for row in documents) or "(no passage)"


def main(directory: str, question: str) -> None:
    """Print the prompt that a model would get; add `| model` to the chain to let it answer."""
    prompt = ChatPromptTemplate.from_template(
        "Answer only from these passages, and cite their sources.\n\n{passages}\n\nQuestion: {question}"
    )
    with Library(directory) as library:
        retriever = ZimRetriever(library=library)
        chain = {"passages": retriever | format_passages, "question": RunnablePassthrough()} | prompt
        print(chain.invoke(question).to_string())


if __name__ == "__main__":
    main(*sys.argv[1:3])
