"""Lines of a page that are not the article: licences, dates of changes, links to neighbours, the frame of an e-book."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openzim_mcp.worker.document import Block

EBOOK_MARK = b"GUTENBERG EBOOK"
"""What the bytes of a page hold if it may be a book of Project Gutenberg."""
_EDGE_BLOCKS = 4
"""Notices stand among the first or the last blocks of a page."""
_MAX_NOTICE_CHARS = 600
_NOTICES = {
    "licence": r"this (?:article|page|work|content|document) is (?:issued from|licensed|available under|released)|"
    r"(?:the )?text (?:of this page )?is (?:available|licensed) under|"
    r"content (?:on this page )?(?:is|from) .{0,80}licensed|unless otherwise (?:noted|stated), .{0,80}licen[sc]ed|"
    r"(?:copyright )?(?:©|\(c\)) ?(?:copyright )?\d{4}|licen[sc]ed under (?:the |a )?|all rights reserved|"
    r"retrieved from [\"“]?https?:|.{0,60}is in the public domain\.(?:\nhttps?://\S*)?$",
    "date": r"(?:this page (?:was )?)?last (?:modified|edited|updated|changed)(?: on|:)|"
    r"this page (?:was )?(?:generated|built|created) on",
    "views": r"(?:asked .{0,60})?viewed [\d,.k]+ times?$|this page has been (?:accessed|viewed) [\d,.]+ times",
    "command": r"(?:jump to (?:navigation|search|content)|skip to (?:main )?content|download the ebook|read this book|"
    r"edit this page|improve this page|report (?:a bug|this page|an issue)|view (?:page )?source|print this page|"
    r"back to top|table of contents)\W*$",
    "breadcrumbs": r"(?:home|main page|docs|documentation|accueil|inicio|startseite)(?: [»›>] [^»›>\n]{1,60})+$",
}
_NOTICE = re.compile(rf"^\W{{0,3}}(?:{'|'.join(_NOTICES.values())})", re.IGNORECASE)
_NEIGHBOUR_WORDS = (
    "previous|prev|next|up|home|back|contents|index|zurück|weiter|nach oben|précédent|suivant|anterior|siguiente|"
    "próximo|seguinte|precedente|successivo|vorige|volgende|пред|след|наверх|начало|назад|вперёд|poprzedni|następny|"
    "önceki|sonraki|السابق|التالي|أعلى|البداية|上一页|下一页|上一级|起始页|戻る|次へ|上に戻る|ホーム|이전|다음|위로|처음|"
    "पिछला|अगला|sebelumnya|berikutnya|trước|tiếp|lên"
)
_NEIGHBOUR = re.compile(rf"^[\W_]*(?:{_NEIGHBOUR_WORDS})(?![^\W\d_])", re.IGNORECASE)
# The first letters of all these, as a quick test: nearly no text is one.
_START_CHARS = 3
_STARTS = frozenset(word[:_START_CHARS] for word in _NEIGHBOUR_WORDS.split("|")) | frozenset(
    "thi the tex con unl cop (c) lic all ret las ask vie jum ski dow rea edi imp rep pri bac tab hom mai doc acc ini "
    "sta".split()
)
_EMPHASIS = " *_-"
_NOTICE_KINDS = frozenset({"paragraph", "list"})
_PUBLIC_DOMAIN = "in the Public Domain"
_PART = re.compile(r"\s*[|\n]\s*")
_EBOOK_START = "*** START OF TH"
_EBOOK_END = re.compile(r"\*\*\* ?END OF TH|End of (?:the )?Project Gutenberg")
_EBOOK_FRAME_BLOCKS = 60
_EBOOK_FACT = re.compile(
    r"^(Title|Subtitle|Author|Editor|Translator|Illustrator|Contributor|Language): +(\S.*)$", re.MULTILINE
)


def mark_notices(blocks: list[Block]) -> None:
    """Change the kind of the blocks at the edges of a page that are notices, unless it has nothing else."""
    count = len(blocks)
    last_start = max(_EDGE_BLOCKS, count - _EDGE_BLOCKS)
    found = [number for number, block in enumerate(blocks[:_EDGE_BLOCKS]) if _is_notice(block)]
    found += [number for number, block in enumerate(blocks[last_start:], last_start) if _is_notice(block)]
    if found and len(found) < sum(block.kind != "heading" for block in blocks):
        for number in found:
            blocks[number] = blocks[number]._replace(kind="notice")


def _is_notice(block: Block) -> bool:
    text = block.text
    if len(text) > _MAX_NOTICE_CHARS or block.kind not in _NOTICE_KINDS:
        return False
    start = text.lstrip(_EMPHASIS)[:_START_CHARS].lower()
    if start not in _STARTS and start[:2] not in _STARTS and start[:1] != "©" and _PUBLIC_DOMAIN not in text:
        return False
    if _NOTICE.match(text):
        return True
    if not _NEIGHBOUR.match(text):
        return False
    parts = _PART.split(text)
    links = sum(_NEIGHBOUR.match(part) is not None for part in parts)
    return links > 1 and links >= len(parts) / 2


def mark_ebook_frame(blocks: list[Block]) -> list[tuple[str, str]]:
    """Mark what Project Gutenberg adds before and after a book; return title, author and the like."""
    first = next((n for n, block in enumerate(blocks[:_EBOOK_FRAME_BLOCKS]) if _EBOOK_START in block.text), -1)
    header = "\n".join(block.text for block in blocks[: first + 1])
    offset = max(first + 1, len(blocks) - _EBOOK_FRAME_BLOCKS)
    last = next((n for n in range(offset, len(blocks)) if _EBOOK_END.search(blocks[n].text)), len(blocks))
    for number in [*range(first + 1), *range(last, len(blocks))]:
        if blocks[number].kind != "heading":
            blocks[number] = blocks[number]._replace(kind="notice")
    return _EBOOK_FACT.findall(header)
