"""Relations that questions ask for: one row per relation, with the words and the names of key facts that express it.

A question says "who came up with Python", its article "was conceived by", its infobox "Designed by". `asked` are words
of questions, `said` words of texts, `facts` names of key facts; in `asked` and `said` a star stands for any ending.
Case and accents are ignored.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.app.query.question_words import ENGLISH
from openzim_mcp.text import fact_key, is_unspaced_script, normalize

if TYPE_CHECKING:
    from collections.abc import Collection


class Relation(NamedTuple):
    """A row of the table."""

    name: str
    asked: str
    said: str
    facts: str


RELATIONS = (
    Relation(
        "creator",
        "create*|creator*|made|make|makes|maker|invent*|design*|develop*|devise*|built|build|founder*|founded|set up|"
        "came up with|come up with|start*|establish*|author*|wrote|write|writes|written|writer|compos*|drew|painted|"
        "painter|directed|director|produced|produce|architect*|behind|discover*|erfand|erfunden|erfinder|gegründet|"
        "gründer|schrieb|geschrieben|autor|entwickelt|entworfen|créé|inventé|inventeur|fondé|fondateur|écrit|auteur|"
        "conçu|creó|inventó|inventor|fundó|fundador|escribió|autor|criou|inventou|fundou|escreveu|creato|inventato|"
        "fondato|scritto|autore|создал*|создат*|изобр*|основал*|основат*|написал*|автор|разработ*|założył*|założyciel*|"
        "stworzył*|napisał*|wynalazł*|kurdu|kurucu*|icat|yazdı|yazar*|أسس|أسسه|مؤسس|اخترع|مخترع|كتب|ألف|مؤلف|صمم|طور|"
        "发明|創立|创立|创建|创始|创办|发起|开发|设计|作者|写|発明|創始|開発|設計|作った|作られ|書いた|만든|만들|설립|발명|창시|저자|"
        "बनाया|लिखा|आविष्कार|स्थापना",
        "created|invented|designed|developed|founded|established|written|wrote|author|composed|built|architect|"
        "introduced|devised|conceived|discovered|directed|painted|produced",
        "designed by|designer|developer|developed by|author|authors|creator|created by|founder|founders|founded by|"
        "inventor|invented by|written by|writer|writers|composer|composed by|songwriter|architect|architects|built by|"
        "maker|manufacturer|producer|produced by|established by|music by|director|directed by|publisher|artist|"
        "discovered by|discoverer|screenplay by|story by|lyrics by|original author|entwickler|autor|gründer|auteur|"
        "fondateur|fundador|автор|разработчик",
    ),
    Relation(
        "birth",
        "born|birth*|birthday|birthplace|come from|comes from|from|hometown|geboren|geburt*|né|née|naissance|nació|"
        "nacido|nacimiento|nasceu|nato|nata|родил*|рожден*|urodził*|doğdu|doğum*|ولد|مولد|出生|诞生|生まれ|誕生|태어|जन्म",
        "born|birth|native|hometown",
        "born|birth|date of birth|place of birth|birthplace|birth date|birth place|origin|geboren|naissance|"
        "nacimiento|дата рождения",
    ),
    Relation(
        "death",
        "die|died|dies|death*|dead|kill*|murder*|assassinat*|buried|grave|gestorben|starb|tod|mort|décès|décédé|murió|"
        "muerte|morreu|morto|умер*|смерт*|zmarł*|öldü|ölüm*|مات|توفي|وفاة|死|逝世|亡くな*|사망|मृत्यु",
        "died|death|killed|buried|assassinated|murdered|executed|interred|cemetery",
        "died|death|date of death|place of death|resting place|buried|place of burial|cause of death|gestorben|décès|"
        "fallecimiento|дата смерти",
    ),
    Relation(
        "spouse",
        "married|marry|marri*|wife|wives|husband|spouse*|partner|verheiratet|ehefrau|ehemann|épouse|mari|esposa|"
        "esposo|marido|casado|casada|moglie|marito|жена|жену|муж|妻|夫|结婚",
        "married|wife|husband|spouse|wed|wedding",
        "spouse|spouses|spouse(s)|wife|husband|partner|partners|married|consort|ehepartner|conjoint|cónyuge",
    ),
    Relation(
        "family",
        "kid|kids|child|children|son|sons|daughter*|father|mother|parent*|brother*|sister*|sibling*|mom|mum|dad|"
        "kinder|vater|mutter|enfants|père|mère|hijos|hijo|hija|padre|madre|дети|отец|мать",
        "children|son|daughter|father|mother|parents|brother|sister",
        "children|issue|offspring|father|mother|parents|relatives|siblings|family",
    ),
    Relation(
        "name",
        "real name|full name|birth name|nickname*|called|also known|stand for|stands for|abbreviation|acronym|"
        "other name*|name come from|name comes from|named after|heißt|s'appelle|se llama|как называется|как зовут|"
        "название|назван*|имя|اسم|تسمية|名字|名称|得名|命名|名前|由来|이름",
        "born|known|named|nickname|called|alias|abbreviation|acronym|stands",
        "birth name|also known as|real name|full name|nickname|nicknames|nickname(s)|other names|other name|"
        "named after|named for|native name|official name|stage name",
    ),
    Relation(
        "age",
        "how old|age|ages|aged|wie alt|alter|quel âge|âge|qué edad|edad|quanti anni|età|сколько лет|возраст*|几岁|何歳",
        "age|aged|years old|lifespan",
        "age|aged|born|date of birth|birth date|lifespan|life expectancy|alter|âge|edad|возраст",
    ),
    Relation(
        "capital",
        "capital*|hauptstadt|capitale|столиц*|首都|başkent*|stolica",
        "capital|seat",
        "capital|capital and largest city|capital city|seat|county seat|hauptstadt|capitale|столица|"
        "administrative center",
    ),
    Relation(
        "population",
        "population|inhabitant*|people live|people living|live in|lives in|residents|citizens|einwohner*|habitant*|"
        "población|população|popolazione|населен*|жител*|人口|nüfus*",
        "population|inhabitants|residents|people|census",
        "population|population estimate|population census|inhabitants|einwohner|población|население",
    ),
    Relation(
        "capacity",
        "fit|fits|capacity|seats|seat|spectators|hold|holds|plätze|capacité|capacidad",
        "capacity|seats|seating|accommodate|attendance|spectators",
        "capacity|seating|seating capacity|attendance|seats",
    ),
    Relation(
        "area",
        "area|how big|how large|bigger|larger|largest|size|square|fläche|größe|wie groß|superficie|área|площад*|面积|"
        "面積",
        "area|square|km2|acres|hectares|size",
        "area|size|total area|land area|area total|fläche|superficie|площадь",
    ),
    Relation(
        "height",
        "how tall|how high|tall|taller|tallest|height|high|higher|highest|elevation|altitude|wie hoch|höhe|höchste|"
        "hauteur|altura|altitud|altezza|высот*|高さ|多高|高度",
        "tall|height|high|elevation|summit|peak|metres|feet",
        "height|elevation|highest|highest point|highest elevation|roof|tip|architectural|elevation m|höhe|hauteur|"
        "altitud|высота",
    ),
    Relation(
        "length",
        "how long is|how long are|length|länge|wie lang|longueur|longitud|lunghezza|длин*|长度|長さ",
        "length|long|km|miles",
        "length|total length|length km|länge|longueur|longitud|длина",
    ),
    Relation(
        "speed",
        "how fast|speed|fastest|faster|top speed|geschwindigkeit|wie schnell|vitesse|velocidad|velocità|скорост*|速度|"
        "速さ",
        "speed|km/h|mph|fast|knots",
        "speed|top speed|maximum speed|max speed|cruise speed",
    ),
    Relation(
        "weight",
        "how heavy|weigh*|weight|heavier|heaviest|mass|schwer|gewicht|poids|pèse|peso|pesa|вес|весит|масса|重さ|多重|"
        "重量",
        "weigh|weighs|weight|kg|pounds|mass|lb|tonnes",
        "weight|mass|loaded weight|empty weight|gewicht|poids|peso|вес|масса",
    ),
    Relation(
        "cost",
        "cost*|price*|expensive|cheap|paid|pay|worth|budget|money|kostet|preis|teuer|prix|coûte|precio|cuesta|preço|"
        "prezzo|цена|стоит|стоимость|价格|値段",
        "cost|price|million|billion|dollars|paid|budget",
        "cost|price|construction cost|budget|fare|unit cost|program cost|gross",
    ),
    Relation(
        "duration",
        "how long|duration|running time|runtime|last|lasted|lasts|dauer|wie lange|durée|duración|durata|длит*|"
        "продолжительность|期間|多久",
        "duration|lasted|minutes|hours|days|weeks|months",
        "duration|running time|mission duration|length|runtime|orbital period|gestation",
    ),
    Relation(
        "release",
        "release*|come out|came out|comes out|publish*|appear*|launch*|premier*|first issue*|debut*|veröffentlicht|"
        "erschien*|sortie|publié|publicó|estreno|publicado|uscito|вышел|вышла|выпущен*|опубликован*|发布|出版|発売|"
        "発表",
        "released|published|appeared|launched|debut|issued|premiered",
        "released|release|release date|release dates|first appeared|publication date|published|initial release|"
        "launched|recorded|first issue|first aired|original release|stable release|latest release|original run|"
        "first published|launch date",
    ),
    Relation(
        "founding",
        "found*|establish*|set up|start*|began|begin|begun|open|opens|opened|opening|inaugurat*|built|build|"
        "construct*|formed|formation|origin*|gegründet|eröffnet|gebaut|fondé|fondée|construit|ouvert|fundó|fundado|"
        "fundada|construyó|inauguró|construído|fondato|costruito|основан*|построен*|открыт*|建立|成立|創立|設立",
        "founded|established|opened|began|inaugurated|built|completed|formed|construction",
        "founded|established|opened|opening|opening date|formation|formed|inaugurated|foundation|built|construction|"
        "construction started|completed|completion date|inception|launched|date founded|years active|gegründet|"
        "création|fundación|основан",
    ),
    Relation(
        "event date",
        "happen*|take place|took place|occur*|fought|battle|war|independen*|declare*|hand* over|handover|crowned|"
        "coronation|elected|sign|signs|signed|signing|passed|stattfand|passiert|a eu lieu|tuvo lugar|ocurrió|"
        "произошл*|состоял*",
        "took place|occurred|happened|fought|declared|signed|elected|crowned|independence",
        "date|dates|independence|declared|established|recognized|recognised|coronation|reign|in office|term|signed|"
        "ratified|election date|time",
    ),
    Relation(
        "place",
        "where|located|location|lies|situated|city|town|country|place|headquarter*|based|native|live|lives|found in|"
        "spoken|wo|liegt|befindet|où|situé|dónde|queda|ubicado|onde|fica|dove|si trova|где|находит*|расположен*|在哪|"
        "どこ",
        "located|lies|situated|town|city|country|region|based|found",
        "location|located|country|countries|city|town|region|state|place|address|native to|spoken in|headquarters|"
        "location city|territory|district|province|county|habitat|distribution|hometown|residence|ort|land|pays|lieu|"
        "país|ubicación|место|страна",
    ),
    Relation(
        "occupation",
        "job|profession*|occupation*|do for a living|work as|worked as|career|known for|famous for|famous|beruf|"
        "métier|profesión|profissão|професси*|职业|職業",
        "worked|profession|career|known",
        "occupation|occupations|occupation(s)|profession|known for|notable works|years active|position|field|fields|"
        "genre|genres",
    ),
    Relation(
        "education",
        "study|studied|school|university|college|educat*|graduat*|degree|studiert|étudié|estudió|учил*|大学",
        "studied|graduated|educated|university|college|school|degree",
        "education|alma mater|school|college|university|institutions|doctoral advisor",
    ),
    Relation(
        "language",
        "language*|speak*|spoken|sprache|spricht|langue|parle|idioma|lengua|habla|lingua|язык*|говорят|语言|言語",
        "language|languages|spoken|speakers",
        "language|languages|official language|official languages|spoken languages|language(s)|sprache|langue|idioma|"
        "язык",
    ),
    Relation(
        "currency",
        "currency|money|coin|währung|monnaie|moneda|moeda|moneta|валют*|货币|通貨",
        "currency",
        "currency|currencies|währung|monnaie|moneda|валюта",
    ),
    Relation(
        "leader",
        "president|leader|king|queen|prime minister|mayor|governor|head|rule*|ruler|emperor|ceo|boss|chief|präsident|"
        "könig|président|roi|presidente|rey|rei|re|президент|король|глава|总统|大統領",
        "president|leader|prime minister|mayor|king|queen|ruler|governor",
        "president|leader|leaders|prime minister|monarch|mayor|governor|head of state|chancellor|chairman|"
        "chief executive|ceo|key people|commander|commanders|owner|manager|coach|director|chairperson|premier",
    ),
    Relation(
        "members",
        "member*|band|line up|lineup|players|team|cast|star|stars|starred|starring|actor*|actress*|plays|play|role|"
        "mitglied*|membres|miembros|участник*|成员|メンバー",
        "members|starring|cast|played|portrayed",
        "members|past members|current members|former members|starring|cast|stars|voiced by|portrayed by|players|team",
    ),
    Relation(
        "religion",
        "religion*|church|faith|believe*|religión|религи*|宗教",
        "religion|church|faith",
        "religion|denomination|faith",
    ),
    Relation(
        "award",
        "win|won|winner|award*|prize*|medal*|oscar|nobel|title|champion*|gewonnen|gewann|gagné|prix|ganó|premio|vinto|"
        "выиграл*|преми*|获奖",
        "won|award|awarded|prize|winner|champion|medal",
        "awards|award|winner|winners|champion|champions|result|notable awards|honours|honors|medals|score",
    ),
    Relation(
        "food",
        "eat|eats|diet|feed|feeds|food|fressen|frisst|mange|come|comen|ест|едят|питается|吃|食べ",
        "eat|eats|feed|diet|prey|food",
        "diet|prey|food|main ingredient|main ingredients|ingredients",
    ),
    Relation(
        "species",
        "species|family|genus|scientific name|latin name|classified|kind of animal|kind of plant|art|gattung|espèce|"
        "especie|вид|种|学名",
        "species|genus|family|scientific|latin",
        "species|genus|family|order|class|kingdom|phylum|binomial name|scientific name|trinomial name|"
        "conservation status|subspecies",
    ),
    Relation(
        "number",
        "how many|number of|count|total|wie viele|combien de|cuántos|cuántas|quantos|quanti|сколько|多少|几个",
        "number|total",
        "number|total|number of employees|employees|no of|pages|episodes|seasons|species|students|staff|passengers|"
        "casualties|strength|discovered|moons|satellites|chapters|verses|tracks|no of episodes|number built",
    ),
)


class AskedRelations(NamedTuple):
    """The relations that a question asks for: words of it that name them, words of texts, names of key facts."""

    terms: list[str]
    words: list[str]
    fact_names: list[str]


@cache
def _asked_pattern(asked: str) -> re.Pattern[str]:
    """Compile the words of a row; those in scripts without spaces are found inside others."""
    terms = [normalize(term) for term in asked.split("|")]
    unspaced = [re.escape(term.rstrip("*")) for term in terms if is_unspaced_script(term)]
    spaced = [
        re.escape(term).replace(r"\*", r"\w*").replace(r"\ ", r"\s+") for term in terms if not is_unspaced_script(term)
    ]
    return re.compile("|".join([rf"(?<!\w)(?:{'|'.join(spaced)})(?!\w)", *unspaced]))


def find_relations(text: str, ignored: Collection[str] = (), language: str = "en") -> AskedRelations:
    """Return the relations that a question asks for; `ignored` words name none.

    The words of texts are English; of another language, texts have the words of its questions.
    """
    normalized = normalize(text)
    found = [
        (row, [term for term in _asked_pattern(row.asked).findall(normalized) if term not in ignored])
        for row in RELATIONS
    ]
    rows = [row for row, terms in found if terms]
    words = (word for _, terms in found for term in terms for word in term.split())
    said = [row.said if language in ENGLISH else f"{row.said}|{row.asked}" for row in rows]
    return AskedRelations(
        terms=list(dict.fromkeys(words)),
        words=list(dict.fromkeys(normalize(word.rstrip("*")) for text in said for word in text.split("|"))),
        fact_names=list(dict.fromkeys(fact_key(name) for row in rows for name in row.facts.split("|"))),
    )
