from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openzim_mcp import tokens
from openzim_mcp.app.query.interpret import interpret, rank_interpretations
from support.archives import write_zim
from support.stdio_server import StdioServer

TEA = {"Help": "<h1>Help</h1><p>Help is a song about tea.</p>", "Green_tea": "<p>Green tea is a drink.</p>"}
NOVELS = {"Emma": "<p>Emma Woodhouse, handsome.</p>", "Emma_(cover)": "<p>Emma</p>", "Persuasion": "<p>Sir Walter.</p>"}


def ask(server: StdioServer, query: str, **arguments: Any) -> str:
    result = server.request("tools/call", {"name": "zim_query", "arguments": {"query": query, **arguments}})
    assert not result.get("isError"), result
    return str(result["content"][0]["text"])


@pytest.fixture(scope="module")
def server(town_zim: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StdioServer]:
    """A server in simple mode on three archives."""
    directory = tmp_path_factory.mktemp("library")
    shutil.copy(town_zim, directory)
    tea = {"Title": "Tea Q&A", "Description": "About all kinds of tea", "Language": "eng,jpn", "Date": "2025-03-01"}
    write_zim(directory / "tea_mul_all.zim", TEA, redirects={"Sencha": "Green_tea"}, metadata=tea)
    novels = {"Title": "Novels", "Language": "deu", "Tags": "_category:gutenberg"}
    write_zim(directory / "novels.zim", NOVELS, metadata=novels)
    with StdioServer(directory) as server:
        ask(server, "server health")  # the archives are described by now, however busy the machine is
        yield server


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("what do you have?", "3 archives:\n- "),
        ("list archives", "- tea_mul_all.zim: Tea Q&A; qa, en/ja, 2025-03, 2 articles"),
        ("what do you have in German?", "1 archive in German:\n- novels.zim: Novels; book, de, 3 articles"),
        ("archives in Japanese", "1 archive in Japanese:\n- tea_mul_all.zim"),
        ("Archive auf Japanisch", "1 archive in Japanese:\n- tea_mul_all.zim"),
        ("archives in Thai", "No archive is in Thai. 3 languages:"),
        ("which languages are there?", "- English (en): towns_en_all_2026-01.zim, tea_mul_all.zim"),
        ("which topics are there?", "- tea_mul_all.zim: Tea Q&A — About all kinds of tea"),
        ("what books do you have?", "Books:\n- Emma — novels.zim\n- Persuasion — novels.zim"),
        ("how many articles does Tea Q&A have?", "tea_mul_all.zim:\n- title: Tea Q&A"),
        ("how many articles does the tea archive have?", "- articles: 2"),
        ("how old is tea_mul_all", "- date: 2025-03-01"),
        ("how many articles are there?", "3 archives, 8 articles:"),
        ("list articles in tea_mul_all", "2 articles in tea_mul_all.zim:\n- Green tea\n- Help"),
        ("which archive is about tea?", "About 'tea':\n- tea_mul_all.zim"),
        ("which archive is about Zürich?", "with an article of that title:\n- towns_en_all_2026-01.zim"),
        ("which archive is about jazz?", "No archive is about 'jazz'"),
        ("get article Help", "# Help"),
    ],
)
def test_question_about_the_library_is_answered_from_its_records(
    server: StdioServer, query: str, expected: str
) -> None:
    assert expected in ask(server, query)


def test_help_names_requests_in_few_tokens(server: StdioServer) -> None:
    reply = ask(server, "help")

    assert reply.startswith("3 archives in 3 languages, among them: ")
    assert "outline of X" in reply
    assert tokens.estimate(reply) <= 300


def test_articles_are_listed_in_pages(server: StdioServer) -> None:
    assert ask(server, "list articles in tea_mul_all", limit=1, offset=1) == "2 articles in tea_mul_all.zim:\n- Help"


@pytest.mark.parametrize(
    ("intent", "queries"),
    [
        (
            "help",
            "what can you do|Hilfe|que peux-tu faire ?|¿qué puedes hacer?|o que você pode fazer?|cosa sai fare?|"
            "wat kun je?|что ты умеешь?|co potrafisz?|ne yapabilirsin?|ماذا يمكنك أن تفعل؟|你能做什么？|何ができますか|"
            "आप क्या कर सकते हैं|무엇을 할 수 있나요?|kamu bisa apa?|bạn có thể làm gì?",
        ),
        (
            "archives",
            "what do you have?|Was gibt es hier?|qu'as-tu ?|¿qué tienes?|o que você tem?|cosa hai?|wat heb je?|"
            "что у вас есть?|co masz?|neler var?|ماذا لديك؟|你有什么？|何がありますか？|आपके पास क्या है?|뭐가 있어?|"
            "apa yang kamu punya?|bạn có gì?",
        ),
        (
            "languages",
            "which languages are there?|Welche Sprachen gibt es?|quelles langues sont disponibles ?|¿qué idiomas hay?|"
            "quais idiomas tem?|quali lingue ci sono?|welke talen zijn er?|какие языки есть?|jakie języki są dostępne?|"
            "hangi diller var?|ما هي اللغات المتاحة؟|有哪些语言？|どの言語がありますか|कौन सी भाषाएँ हैं?|어떤 언어가 있나요?|"
            "ada bahasa apa saja?|có những ngôn ngữ nào?",
        ),
        (
            "books",
            "which books are there?|Welche Bücher gibt es?|quels livres as-tu ?|¿qué libros hay?|quais livros você tem?|"
            "quali libri hai?|welke boeken heb je?|какие книги есть?|jakie książki masz?|hangi kitaplar var?|"
            "ما هي الكتب المتاحة؟|有哪些书？|どんな本がありますか|कौन सी किताबें हैं?|어떤 책이 있나요?|ada buku apa saja?|có sách nào?",
        ),
        (
            "topics",
            "what topics do you cover?|Welche Themen gibt es?|quels sujets ?|¿qué temas hay?|quais temas há?|"
            "quali argomenti ci sono?|welke onderwerpen zijn er?|какие темы есть?|jakie tematy są?|hangi konular var?|"
            "ما هي المواضيع المتاحة؟|有哪些主题？|どんなトピックがありますか|कौन से विषय हैं?|어떤 주제가 있나요?|topik apa saja?|"
            "có những chủ đề nào?",
        ),
        (
            "archives_in",
            "archives in Japanese|Archive auf Japanisch|archives en japonais|archivos en japonés|arquivos em japonês|"
            "archivi in giapponese|archieven in het Japans|архивы на японском языке|archiwa po japońsku|Japonca arşivler|"
            "الأرشيفات باليابانية|日语档案|日本語のアーカイブ|जापानी फ़ाइलें|일본어 아카이브|arsip dalam bahasa Jepang|tệp bằng tiếng Nhật",
        ),
        (
            "about",
            "which archive is about coffee?|Welches Archiv handelt von Kaffee?|quelle archive parle de café ?|"
            "¿qué archivo trata de café?|qual arquivo fala de café?|quale archivio parla di caffè?|"
            "welk archief gaat over koffie?|какой архив о кофе?|które archiwum jest o kawie?|kahve hakkında hangi arşiv var?|"
            "أي أرشيف عن القهوة؟|哪个档案是关于咖啡的？|コーヒーについてのアーカイブはどれですか|कॉफ़ी के बारे में कौन सा आर्काइव है?|"
            "커피에 관한 아카이브는 있나요?|arsip mana tentang kopi?|tệp nào nói về cà phê?",
        ),
    ],
)
def test_library_is_asked_about_in_every_language(intent: str, queries: str) -> None:
    intents = {query: rank_interpretations(interpret(query), {})[0].intent for query in queries.split("|")}

    assert {query: found for query, found in intents.items() if found != intent} == {}


@pytest.mark.parametrize(
    "query",
    [
        "how many articles does se_coffee have?|Wie viele Artikel hat se_coffee?|combien d'articles contient se_coffee ?|"
        "¿cuántos artículos tiene se_coffee?|quantos artigos tem se_coffee?|quanti articoli ci sono in se_coffee?|"
        "hoeveel artikelen heeft se_coffee?|сколько статей в se_coffee?|ile artykułów jest w se_coffee?|"
        "se_coffee kaç makale var?|كم مقالة في se_coffee؟|se_coffee有多少篇文章？|se_coffeeには記事がいくつありますか|"
        "se_coffee में कितने लेख हैं?|se_coffee에 문서가 몇 개 있나요?|berapa artikel di se_coffee?|se_coffee có bao nhiêu bài viết?",
        "how old is se_coffee?|Wie alt ist se_coffee?|de quand date se_coffee ?|¿de cuándo es se_coffee?|"
        "de quando é se_coffee?|di quando è se_coffee?|hoe oud is se_coffee?|насколько стар se_coffee?|"
        "jak stary jest se_coffee?|se_coffee ne kadar eski?|كم عمر se_coffee؟|se_coffee有多旧？|se_coffeeはいつのものですか|"
        "se_coffee कितना पुराना है?|se_coffee는 얼마나 오래됐나요?|seberapa tua se_coffee?|se_coffee có từ khi nào?",
    ],
)
def test_archive_is_named_in_every_language(query: str) -> None:
    names = {text: [row.title for row in interpret(text) if row.intent == "describe"] for text in query.split("|")}

    assert {text: found for text, found in names.items() if "se_coffee" not in found} == {}


@pytest.mark.parametrize(
    "query",
    [
        "how many articles does the constitution have?",
        "how old is the universe?",
        "what languages are spoken in Switzerland?",
        "which books did Jane Austen write?",
        "what is in a name?",
        "what topics did Aristotle write about?",
        "help me understand tides",
    ],
)
def test_question_about_the_world_is_not_about_the_library(query: str) -> None:
    best = rank_interpretations(interpret(query), {})[0]

    assert best.intent == "question"
