# ruff: noqa: RUF001
"""Disambiguation pages: by their markup, their title, or their first line, in the languages of the intents."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.worker.document import Block

MARK = b"disambig"
"""What the bytes of a page hold if `SELECTOR` can match."""
SELECTOR = (
    "#disambig, #disambigbox, .disambigbox, .dmbox-disambig, .disambig, .avviso-disambigua, "
    'meta[property="mw:PageProp/disambiguation"]'
)
_TITLE = re.compile(
    r"\((?:disambiguation|begriffsklärung|homonymie|desambiguación|desambiguação|disambigua|doorverwijspagina|"
    r"значения|ujednoznacznienie|anlam ayrımı|توضيح|消歧义|消歧義|曖昧さ回避|बहुविकल्पी|동음이의|disambiguasi|"
    r"định hướng)\)$",
    re.IGNORECASE,
)
_FIRST_LINES = {
    "en": r"(?:may|can|could|might) (?:also |either )?(?:refer to|mean|stand for)\b|refers to several|"
    r"is the (?:sur)?name of (?:several|some|two|three|many)\b|has (?:several|multiple|many) meanings",
    "de": r"bezeichnet:|steht für:|ist der (?:Familien|Ruf|Vor)?name (?:von|folgender)|ist die Bezeichnung für:",
    "fr": r"peut (?:aussi |également )?(?:désigner|faire référence|se référer|signifier|renvoyer)|désigne\s*:",
    "es": r"puede (?:referirse|hacer referencia|significar|designar|remitir)",
    "pt": r"pode (?:referir-se|se referir|significar|designar|remeter)|pode ser:",
    "it": r"può (?:riferirsi|indicare|significare|fare riferimento)|si può riferire",
    "nl": r"kan (?:verwijzen|betrekking hebben|betekenen|slaan op|duiden op)",
    "ru": r"мо(?:жет|гут) (?:означать|относиться|обозначать)|многозначн",
    "pl": r"może (?:odnosić się|oznaczać|dotyczyć)",
    "tr": r"anlamlara gelebilir|anlamına gelebilir|şunlardan biri|şu anlamlara",
    "ar": r"قد (?:يشير|تشير|يعني|تعني|يقصد)|يمكن أن (?:يشير|تشير)",
    "zh": r"可以指|可能指|可以是指|可能是指|可指",
    "ja": r"以下の(?:意味|もの|項目)|次のような意味|曖昧さ回避",
    "hi": r"का (?:अर्थ|मतलब) .{0,40}हो सकता|से (?:आशय|तात्पर्य) .{0,40}हो सकता",
    "ko": r"다음(?:을|과 같은|의) .{0,12}(?:가리킨다|뜻|의미)",
    "id": r"dapat (?:merujuk|mengacu|berarti)|bisa (?:merujuk|mengacu|berarti)",
    "vi": r"có thể (?:là|đề cập|chỉ|nói đến|ám chỉ)",
}
_FIRST_LINE = re.compile("|".join(_FIRST_LINES.values()), re.IGNORECASE)
_MAX_FIRST_LINE_CHARS = 250
_LINE_ENDS = ":：—-"
_LINE_BEFORE_LIST = re.compile(
    rb"(?:%s)(?:\s|&nbsp;|\xc2\xa0|<[^<>]*>)*?<(?:[uod]l|h[1-6])\b" % "|".join(_LINE_ENDS).encode(), re.IGNORECASE
)


def may_be_disambiguation(raw: bytes, title: str) -> bool:
    """Return whether a page may list the meanings of a word, from its bytes: reading it takes ten times as long."""
    return MARK in raw or has_disambiguation_title(title) or _LINE_BEFORE_LIST.search(raw) is not None


def has_disambiguation_title(title: str) -> bool:
    """Return whether a title says that its page lists the meanings of a word."""
    return title.endswith(")") and _TITLE.search(title) is not None


def lists_meanings(blocks: Sequence[Block]) -> bool:
    """Return whether a page starts with a line such as "X may refer to:" and then a list."""
    texts = [block for block in blocks[:6] if block.kind not in {"hatnote", "figure", "heading"}]
    if len(texts) < 2 or texts[0].kind != "paragraph" or texts[1].kind != "list":  # noqa: PLR2004
        return False
    line = texts[0].text.rstrip()
    return len(line) <= _MAX_FIRST_LINE_CHARS and line[-1] in _LINE_ENDS and _FIRST_LINE.search(line) is not None
