"""Answering a plain question: the passages that hold the answer, few and short, each with its source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openzim_mcp import tokens
from openzim_mcp.app.query import excerpts
from openzim_mcp.library.quarantine import asks_index
from openzim_mcp.text import safe_line
from openzim_mcp.uris import entry_uri
from openzim_mcp.worker.search import filters, fulltext
from openzim_mcp.worker.search.language import by_code

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openzim_mcp.worker.search.ranking import Ranked
    from openzim_mcp.worker.zim import Archive

Cost = excerpts.Cost

_ARTICLE = 0.25
"""What the score of an article adds to that of its passages."""
_WHOLE_TITLE = 0.999
_LEAD = 0.6
"""How far ahead the first passage is of an article whose title is all that a question asks about."""
_GIVEN = 8
_START = 160
_DOUBT = 0.4
"""A further passage is given if its score is at most that much below the first's: beyond, it only costs."""


@asks_index
def ask(archive: Archive, query: str, seconds: float, known: Sequence[str] = ()) -> dict[str, Any]:
    """Return the passages of an archive that answer a question, the best first, and how it was read.

    Words that are known to be right, since another archive has them, are not corrected.
    """
    return _answer(archive, fulltext.look(archive, query, filters.of(archive, None, None), seconds, known))


def ask_without_index(archive: Archive, query: str, seconds: float, known: Sequence[str] = ()) -> dict[str, Any]:  # noqa: ARG001
    """Do the same in an archive whose index must not be asked."""
    return _answer(archive, fulltext.find_without_index(archive, query, filters.of(archive, None, None), seconds))


def _answer(archive: Archive, found: fulltext.Found) -> dict[str, Any]:
    articles = {hit.best.page.path: hit for hit in found.hits}

    def score(ranked: Ranked) -> float:
        is_lead = ranked.passage is ranked.page.document.passages[0]
        lead = _LEAD if is_lead and ranked.features.title >= _WHOLE_TITLE else 0.0
        article = articles[ranked.page.path]
        return ranked.score * article.quality + _ARTICLE * article.score + lead

    best = sorted(((score(ranked), ranked) for ranked in found.ranked), key=lambda row: -row[0])[:_GIVEN]
    return {
        "archive": archive.shown,
        "passages": [_row(archive, value, ranked) for value, ranked in best],
        "language": found.wanted.language.code,
        "weights": found.wanted.weights,
        "corrected": found.wanted.corrected,
    }


def _row(archive: Archive, score: float, ranked: Ranked) -> dict[str, Any]:
    section = ranked.page.document.sections[ranked.passage.section]
    return {
        "archive": archive.shown,
        "path": ranked.page.path,
        "title": ranked.page.title,
        "section_id": section.id,
        "section_title": section.title,
        "text": ranked.passage.text,
        "score": round(score, 3),
        "uri": entry_uri(archive.name, ranked.page.path),
    }


@dataclass(frozen=True)
class Piece:
    """A passage as it is shown, with what it is from."""

    row: dict[str, Any]
    text: str


def by_characters(text: str) -> float:
    """Return the size of a text in tokens as English has them: four characters each."""
    return len(text) / 4


def by_estimate(text: str) -> float:
    """Return the estimated number of tokens, and a margin."""
    return tokens.estimate(text) * tokens.SAFETY_FACTOR


def choose(answers: Sequence[dict[str, Any]], budget: float, cost: Cost, doubt: float = _DOUBT) -> list[Piece]:
    """Return what is likeliest to answer of all archives' passages, as much as fits a budget."""
    asked = {answer["archive"]: _asked(answer) for answer in answers}
    rows = sorted((row for answer in answers for row in answer["passages"]), key=lambda row: -row["score"])
    rows = [row for row in rows if row["score"] >= rows[0]["score"] - doubt][:_GIVEN]
    passages = [
        excerpts.Passage(
            text=row["text"],
            score=row["score"],
            asked=asked[row["archive"]],
            source=row["uri"],
            naming=cost(_source([row])) + 1,
            naming_again=cost(row["section_title"]) + 1,
        )
        for row in rows
    ]
    texts = excerpts.choose(passages, budget, cost)
    pieces = [Piece(row, text) for row, text in zip(rows, texts, strict=True) if text]
    while len(pieces) > 1 and cost(markdown(pieces)) > budget:
        pieces.pop()
    return pieces


def _asked(answer: dict[str, Any]) -> excerpts.Asked:
    return excerpts.Asked(by_code(answer["language"]), answer["weights"])


def markdown(pieces: Iterable[Piece]) -> str:
    """Return passages as they are read: those of one article together, above the line that names it."""
    articles: dict[str, list[Piece]] = {}
    for piece in pieces:
        articles.setdefault(piece.row["uri"], []).append(piece)
    return "\n\n".join(
        "\n\n".join(piece.text for piece in group) + "\n" + _source([piece.row for piece in group])
        for group in articles.values()
    )


def _source(rows: Sequence[dict[str, Any]]) -> str:
    sections = "; ".join(dict.fromkeys(row["section_title"] for row in rows if row["section_title"]))
    return source(rows[0]["title"], sections, rows[0]["archive"], rows[0]["uri"])


def source(title: str, section: str, archive: str, address: str) -> str:
    """Return the line that says where a text is from."""
    return f"Source: {title}{' › ' if section else ''}{section} — {archive} — {address}"


def _start(piece: Piece) -> str:
    """Return how a passage begins: the whole is in the answer, and a model pays for every word."""
    return safe_line(piece.text, _START)


def briefing(query: str, pieces: Sequence[Piece], archives: Sequence[str]) -> dict[str, Any]:
    """Return passages of several sources, those of one together, with numbered citations."""
    numbers: dict[str, int] = {}
    for piece in pieces:
        numbers.setdefault(piece.row["uri"], len(numbers) + 1)
    ordered = sorted(pieces, key=lambda piece: numbers[piece.row["uri"]])
    text = "\n\n".join(f"{piece.text} [{numbers[piece.row['uri']]}]" for piece in ordered)
    cited = {numbers[piece.row["uri"]]: piece.row for piece in reversed(ordered)}
    names = ("archive", "path", "title", "uri")
    return {
        "query": query,
        "answer_markdown": text,
        "passages": [{k: v for k, v in piece.row.items() if k != "uri"} | {"text": _start(piece)} for piece in ordered],
        "citations": [{"id": number} | {name: cited[number][name] for name in names} for number in sorted(cited)],
        "archives_searched": list(archives),
        "total_chars": len(text),
    }
