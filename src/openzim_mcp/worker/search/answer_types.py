"""Whether a text holds the kind of answer that a question asks for, such as a name, a date or a cause."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openzim_mcp.text import find_words, normalize

if TYPE_CHECKING:
    from collections.abc import Collection

    from openzim_mcp.calls.search import AnswerType

_MONTHS = (
    "january february march april may june july august september october november december "
    "jan feb mar apr jun jul aug sep sept oct nov dec "
    "januar februar märz mai juni juli oktober dezember "
    "janvier février mars avril juin juillet août septembre octobre novembre décembre "
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre "
    "janeiro fevereiro março maio junho julho setembro outubro dezembro "
    "gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre "
    "января февраля марта апреля мая июня июля августа сентября октября ноября декабря"
)
_MONTH = rf"(?:{'|'.join(_MONTHS.split())})"
_NUMBER = r"\d[\d.,\u00a0\u202f]*"
_NUMBER_WORD = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fifteen|twenty|thirty|forty|fifty|"
    r"hundred|thousand|million|billion|dozen|zwei|drei|vier|fünf|deux|trois|quatre|cinq|dos|tres|cuatro|"
    r"два|три|четыре|пять)"
)
_NAME = r"[^\W\d_a-zß-öø-ÿа-яё][\w'’-]*[^\W\d_][\w'’-]*"
_PARTICLE = r"(?:van|von|de|der|di|da|del|della|la|le|of|bin|ibn|al|el|du|dos|da)"
_NOT_NAMES = (
    r"(?!(?:The|A|An|In|On|It|He|She|They|This|That|These|Those|When|After|Before|As|For|At|By|From|His|Her|Its|But|"
    r"And|If|You|We|Some|Most|Many|All|One|Its|There|However|While|Since|Although|During|Because|With|To|Of|Or|Not|"
    r"No|Yes|What|Which|Who|How|Why|Where|Der|Die|Das|Ein|Eine|Le|La|Les|El|Los|Las|Un|Une|Una)\b)"
)
_UNIT = (
    r"(?:km|m|cm|mm|µm|nm|ft|feet|foot|in|inch|inches|mi|miles?|yd|yards?|kg|g|mg|lbs?|pounds?|oz|ounces?|tons?|"
    r"tonnes?|mph|km/h|kph|knots|°\s?[CF]?|℃|%|percent|per cent|acres?|sq|ha|hectares?|l|ml|litres?|liters?|gallons?|"
    r"cups?|bars?|psi|metres?|meters?|kilomet(?:re|er)s?|centimet(?:re|er)s?|millimet(?:re|er)s?|kilos?|kilograms?|"
    r"grams?|degrees|watts?|kW|MW|V|volts?|Hz|MHz|GHz|bytes?|KB|MB|GB|TB|bits?|KiB|MiB|GiB|pages?|characters?|"
    r"км|м|см|кг|г|т|тонн|米|公里|公斤|メートル|キロ)"
)
_TIME_UNIT = (
    r"(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|months?|years?|decades?|centur(?:y|ies)|ms|Sekunden?|"
    r"Minuten?|Stunden?|Tagen?|Tage|Wochen?|Monaten?|Monate|Jahren?|Jahre|heures?|jours?|semaines?|mois|ans|années?|"
    r"horas?|días?|semanas?|meses|años?|anos?|часов|часа|дней|дня|недель|месяцев|лет|года|"
    r"秒|分|分钟|小时|時間|天|日間|年間|年)"
)

# What a text must hold, for each kind of answer; names are told by their capitals, so case counts there.
_PATTERNS: dict[AnswerType, str] = {
    "person": (
        rf"{_NOT_NAMES}\b{_NAME}(?:\s+(?:{_PARTICLE}\s+)*(?:{_NAME}|[A-Z]\.))+"
        r"|[\u30a0-\u30ff]{2,}・[\u30a0-\u30ff]{2,}"
    ),
    "place": (
        r"\b(?:in|at|near|from|of|to|around|across|off|throughout|en|à|a|nach|aus|bei|в|на|из|у)\s+"
        rf"(?:the\s+|der\s+|la\s+|el\s+)?{_NAME}|\b{_NAME}, {_NAME}"
    ),
    "date": (
        rf"(?i:\b(?:\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of |de )?{_MONTH}|{_MONTH}\.? \d{{1,4}}|1\d{{3}}|20\d{{2}}"
        r"|\d+(?:st|nd|rd|th)[ -]century|\d+ ?(?:BCE?|AD|CE))\b|\d{1,4}\s?年|\d{1,2}\s?月)"
    ),
    "number": rf"(?i:\b(?:{_NUMBER}|{_NUMBER_WORD})\b)|\d",
    "measure": rf"{_NUMBER}\s?-?\s?{_UNIT}(?!\w)",
    "money": (
        rf"[$£€¥₹]\s?{_NUMBER}|{_NUMBER}(?: (?:million|billion|thousand))?\s?"
        r"(?:dollars?|euros?|pounds|cents?|USD|EUR|GBP|reais|yen|rubles|рублей|元|円)(?!\w)"
        rf"|{_NUMBER} (?:million|billion)|(?i:\bfree\b|\bno charge\b)"
    ),
    "age": (
        rf"(?i:\baged? (?:of )?(?:{_NUMBER}|{_NUMBER_WORD})|\b(?:{_NUMBER}|{_NUMBER_WORD})[- ]years?[- ]old"
        rf"|\b(?:{_NUMBER}|{_NUMBER_WORD}) (?:years|Jahre|ans|años|лет)\b"
        r"|lifespan|life expectancy|\b1\d{3}|\b20\d{2})|歳|岁"
    ),
    "duration": (
        rf"(?:{_NUMBER}|(?i:{_NUMBER_WORD}|a few|several|half an?))\s?-?\s?"
        rf"(?:(?:to|–|-|or|and)\s?{_NUMBER}\s?-?\s?)?{_TIME_UNIT}(?!\w)|\b\d{{1,2}}:\d{{2}}\b"
    ),
    "reason": (
        r"(?i:\b(?:because|due to|caused? by|causes|as a result|since|therefore|in order to|so that|so as to|"
        r"the reason|reasons|led to|leads to|results? (?:in|from)|resulted (?:in|from)|thought to|believed to|owing to|"
        r"thanks to|to avoid|to prevent|to allow|the cause|named (?:after|for)|comes? from|why|explains?|which means|"
        r"makes? it|allows?|helps?|weil|da|wegen|damit|denn|parce que|car|afin|à cause|grâce|porque|debido|ya que|"
        r"para que|perché|poiché|потому|поскольку|так как|чтобы|из-за|ponieważ|çünkü|karena|vì)\b)"
        r"|لأن|بسبب|因为|由于|所以|ため|ので|から|때문"
    ),
    "steps": (
        r"(?m:^\s*(?:[-*]|\d+[.)])\s)|```|`[^`]+`"
        r"|(?i:\b(?:you (?:can|should|need|may|could|must|want|will)|use|using|run|type|try|add|set|put|press|click|"
        r"install|make sure|first|then|recommend|simply|just|avoid|don't|keep|place|pour|call|man kann|il faut|"
        r"vous pouvez|puede|puedes|можно|нужно|следует|используйте)\b)"
        r"|يمكن|استخدم|可以|使用|できます|使って|してください"
    ),
    "list": r"(?:[\w'’-]+, ){2,}(?:and |or |und |et |y |и )?[\w'’-]+|(?m:^\s*(?:[-*]|\d+[.)])\s)|、[^、]+、",
    "definition": (
        r"(?i:\b(?:is|are|was|were|means?|refers? to|denotes|describes|stands for|is called|known as|defined as|ist|"
        r"sind|war|bezeichnet|est|sont|était|désigne|es|son|fue|significa|é|è|são|является|называется|это|jest|adalah|"
        r"là)\b)|是|とは|です|هو|هي|—"
    ),
}
_COMPILED = {kind: re.compile(pattern) for kind, pattern in _PATTERNS.items()}
_NAMES = frozenset({"person", "place"})
"""Kinds of which only the capitalized words count, not what joins them."""
_NAMED_TYPES = _NAMES | {"date", "number", "measure", "duration", "money", "age"}


def holds_answer(kind: AnswerType | None, text: str, question_words: Collection[str]) -> bool:
    """Return whether a text holds such an answer; a name or number that the question itself says is none."""
    if kind is None:
        return False
    if kind not in _NAMED_TYPES:
        return bool(_COMPILED[kind].search(text))
    words = (word for match in _COMPILED[kind].finditer(text) for word in find_words(match.group()))
    return any(normalize(word) not in question_words for word in words if kind not in _NAMES or not word[0].islower())
