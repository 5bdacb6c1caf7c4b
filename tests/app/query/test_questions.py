from __future__ import annotations

import pytest

from openzim_mcp.app.query.patterns import load_vocabulary
from openzim_mcp.app.query.question_words import function_words
from openzim_mcp.app.query.questions import analyze_question, strip_surroundings

# One example per language: greeting, request to be told, and thanks around a question.
POLITE = [
    ("Good morning! Could you tell me how heavy a hippo is? Thanks in advance", "how heavy a hippo is?"),
    ("so, um, i was just wondering why is the sky blue, thx", "why is the sky blue"),
    ("hi all, does anyone know if penguins have knees", "penguins have knees"),
    ("Guten Tag, weißt du, wie hoch der Eiffelturm ist? Vielen Dank!", "wie hoch der Eiffelturm ist?"),
    ("Bonjour, pouvez-vous me dire où se trouve Lyon ? Merci d'avance", "où se trouve Lyon ?"),
    ("Hola, ¿me puedes decir cuánto pesa un elefante? gracias", "cuánto pesa un elefante?"),
    ("Bom dia, você sabe quem escreveu Dom Casmurro?", "quem escreveu Dom Casmurro?"),
    ("Ciao, mi puoi dire dove si trova il Vesuvio? Grazie mille", "dove si trova il Vesuvio?"),
    ("Hallo, weet iemand hoe hoog de Domtoren is? Bedankt", "hoe hoog de Domtoren is?"),
    ("Здравствуйте, подскажите пожалуйста, кто написал Войну и мир? Спасибо", "кто написал Войну и мир?"),
    ("Dzień dobry, czy ktoś wie kiedy urodził się Chopin? dziękuję", "kiedy urodził się Chopin?"),
    ("Merhaba, acaba Türkiye'nin başkenti neresi? teşekkürler", "Türkiye'nin başkenti neresi?"),
    ("مرحبا، هل تعرف متى تأسست القاهرة؟ شكرا", "متى تأسست القاهرة؟"),
    ("你好，请问珠穆朗玛峰有多高？谢谢", "珠穆朗玛峰有多高？"),
    ("请问长城有多长", "长城有多长"),
    ("こんにちは、富士山の高さを教えてください", "富士山の高さ"),
    ("नमस्ते, क्या आप जानते हैं ताज महल किसने बनवाया? धन्यवाद", "ताज महल किसने बनवाया?"),
    ("안녕하세요, 세종대왕은 언제 태어났나요? 감사합니다", "세종대왕은 언제 태어났나요?"),
    ("Halo, apakah kamu tahu siapa penemu telepon? terima kasih", "siapa penemu telepon?"),
    ("Xin chào, cho tôi hỏi thủ đô của Pháp là gì? cảm ơn", "thủ đô của Pháp là gì?"),
]


@pytest.mark.parametrize(("text", "question"), POLITE)
def test_politeness_is_stripped(text: str, question: str) -> None:
    assert strip_surroundings(text) == question


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("hello what is a yak", "what is a yak"),
        ("so what is a quark", "what is a quark"),
        ("well, how deep is it", "how deep is it"),
        ("sorry to bother you but when did ww2 end", "when did ww2 end"),
        ("remind me who wrote dracula", "who wrote dracula"),
        ("i forgot, who wrote dracula", "who wrote dracula"),
        ("which cat is the biggest, right?", "which cat is the biggest?"),
        ("how tall is it, do you know?", "how tall is it?"),
        ("what is the capital of peru, by the way", "what is the capital of peru"),
        ("is it true that bananas are berries", "bananas are berries"),
    ],
)
def test_ambiguous_word_is_stripped_beside_a_question(text: str, question: str) -> None:
    assert strip_surroundings(text) == question


@pytest.mark.parametrize(
    "text",
    [
        "hello adele release date",
        "hey jude who wrote it",
        "hey there delilah",
        "Hi-5 members",
        "Yo-Yo Ma birthplace",
        "good morning vietnam director",
        "well depth limits",
        "like a virgin album",
        "right angle",
        "help the beatles film",
        "dear john cast",
        "question mark unicode",
        "curious george author",
        "let's dance album year",
        "halo 3 release date",
        "hoi an population",
        "sai baba birthplace",
        "salve regina composer",
        "also known as",
        "who directed love actually",
        "what is a human right",
        "who starred in cheers",
        "who wrote the help",
        "what is stp",
        "what is the meaning of never again",
        "can you freeze milk",
        "remind me to call mom at 5",
        "i forgot to feed my starter",
        "thanks",
        "hello",
        "please",
        "Danke schön",
        "谢谢",
    ],
)
def test_words_of_titles_and_whole_texts_stay(text: str) -> None:
    assert strip_surroundings(text) == text


def test_blanks_are_joined() -> None:
    assert strip_surroundings("  who \n wrote   Dracula ") == "who wrote Dracula"


@pytest.mark.parametrize(
    ("text", "core", "context"),
    [
        (
            "hiya, there's a raccoon under our porch. how long do they live outdoors?",
            "how long do they live outdoors?",
            "there's a raccoon under our porch.",
        ),
        ("are termites a kind of ant? my dad calls them white ants", "are termites a kind of ant?", "my dad calls them white ants"),
        ("My program is slow. Surely it can go faster? Thank you kindly.", "Surely it can go faster?", "My program is slow."),
        ("ok so we argued. which zoo was it in? pls help", "which zoo was it in?", "we argued. pls help"),
        ("Ich war in Wien. Wie heißt der Fluss dort", "Wie heißt der Fluss dort", "Ich war in Wien."),
        ("昨天下雨。 长城有多长？", "长城有多长？", "昨天下雨。"),
        ("a dead sinner ... how does it go on", "a dead sinner ... how does it go on", ""),
        ("who wrote dracula", "who wrote dracula", ""),
        ("who wrote dracula? when was it published?", "who wrote dracula? when was it published?", ""),
        ("The sky is blue. Grass is green.", "The sky is blue. Grass is green", ""),
        ("it says the sailor was inured to the cold. can you?", "it says the sailor was inured to the cold. can you?", ""),
        ("my book says to 'eschew margarine'. eschew?? meaning", "eschew?? meaning", "my book says to 'eschew margarine'."),
        ("新建一个用户？默认文件从哪来的", "新建一个用户？默认文件从哪来的", ""),
        ("coffee made of shells. name?", "coffee made of shells. name?", ""),
        ("politics: a strife of interests as ... ??", "politics: a strife of interests as ... ??", ""),
    ],
)  # fmt: skip
def test_story_is_split_from_the_question(text: str, core: str, context: str) -> None:
    question = analyze_question(text)

    assert (question.text, question.context) == (core, context)


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (
            "word",
            [
                "what does gravamen mean in law", "what does lukewarm mean when they say it", "wat does alegory meen",
                "what does the word jenga mean", "sporadic means what", "flumbrous meaning", "define patience",
                "what does it mean exactly", "what does it mean to eschew", "what does 'verbose' mean",
                'what is "sic"', "what do you call someone who repairs shoes", "fancy name for a shoe repairer",
                "name for a boy horse that isn't 4 yet", "which word means fear of spiders", "abundance opposite word",
                "one word for someone who hates people", "need a fancier word for clumsy", "opposite of generous",
                "what's the proper verb for the noise horses make", "what is a baby kangaroo called",
                "how do you spell rhythm", "was heißt tabula rasa", "que veut dire chauvin", "qué significa chisme",
                "что значит слово лепота", "co znaczy spolegliwy", "苹果的意思", "桜の意味は", "serendipity 무슨 뜻",
            ],
        ),
        (
            "quote",
            [
                "who said i have a dream", "what is the first line of moby dick", "finish the verse: through all",
                "complete the proverb: a stitch in time", "politics: a strife of interests masquerading as ... ??",
                "how does the poem go", "whats the next line", "wer sagte das", "qui a dit cela", "кто сказал это",
                "这首诗的下一句",
            ],
        ),
        (
            "code",
            [
                "sqlite database in ram", "python delete folder", "mylist.sort() gives None", "what is a KeyError",
                "zip_shortest example", "sort a list by a key function", "import a module from another folder",
                "delete from a table with a join", "i learn python. why did b change too?", "what is c++", "insert into two tables", "c# string split",
                "функции python", "安装软件包", "パッケージを入れる",
            ],
        ),
        (
            "name",
            [
                "what do you call a male swan", "what's the verb for the noise that horses make",
                "name for a boy horse that isn't 4 yet", "whats the bird with the huge orange beak",
                "what is it called when two rivers meet", "a railing on a balcony, fancy name for it?",
            ],
        ),
        (
            "howto",
            [
                "how do i clean a moka pot", "how to plant beans", "is it safe to eat raw eggs", "can you freeze milk",
                "my coffee tastes bitter", "my espresso machine keeps leaking", "should i refrigerate eggs",
                "wie kann ich kaffee kochen", "comment faire du pain", "как сделать хлеб", "怎么做面包", "cómo puedo limpiar",
            ],
        ),
        (
            "now",
            [
                "what time is it now in hong kong", "what's the weather like in oslo", "is it going to rain",
                "did liverpool win last night", "where did i put my glasses", "what is my wife's birthday",
                "when is my appointment", "whats my wifi password", "remind me to call mom", "a coffee place near me",
                "wie wird das wetter", "¿qué hora es?", "какая погода в москве", "今天天气怎么样",
            ],
        ),
    ],
)  # fmt: skip
def test_kind_is_found(kind: str, texts: list[str]) -> None:
    assert [text for text in texts if kind not in analyze_question(text).kinds] == []


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (
            "word",
            [
                "what does it mean when my cat kneads", "what does brexit mean for ireland",
                "what did orwell mean by newspeak", "what does a red light mean on my router",
                "what was the titanic's sister ship called", "in other words he lost, who won", "who wrote the word of god",
            ],
        ),
        (
            "name",
            [
                "another word for stubborn", "what is the name of the capital of peru", "other words for sad",
                "what is the scientific name for the house cat", "what is the population of peru", "who named peru",
            ],
        ),
        (
            "quote",
            [
                "when did they finish the hoover dam", "how long does it take to complete the game",
                "what comes after the jurassic", "how does it start in winter", "without the quote breaking everything",
                "what is the line length limit", "i like tea...",
            ],
        ),
        (
            "code",
            [
                "what is the function of the liver", "social class in india", "scientific method", "egg shell composition",
                "vitamin c sources", "coffee table height", "import duties", "exception to the rule", "package holiday",
                "who created python", "first class train seats", "string theory",
            ],
        ),
        (
            "howto",
            [
                "my fair lady author", "who are my ancestors", "make america great again origin", "keep calm and carry on",
                "how was paper made", "clean water act year", "general store history", "who played hamlet",
            ],
        ),
        (
            "now",
            [
                "my wife says whales are fish, is that so?", "why is my dog scratching", "my dog ate a bill, can i get it back",
                "what causes weather", "when did the tunnel open to traffic", "where is the agora of athens",
                "how many people died at that time in china", "was wächst hier", "我的名字出现在书里",
            ],
        ),
    ],
)  # fmt: skip
def test_broad_words_make_no_kind(kind: str, texts: list[str]) -> None:
    assert [text for text in texts if kind in analyze_question(text).kinds] == []


@pytest.mark.parametrize(
    ("text", "quotes"),
    [
        ('who said "I have a dream today"', ["I have a dream today"]),
        ("wer sagte „Ich bin ein Berliner“", ["Ich bin ein Berliner"]),
        ("qui a dit « l'État, c'est moi »", ["l'État, c'est moi"]),
        ("who wrote 'it was the best of times'", ["it was the best of times"]),
        ('"call me ishmael" and "the white whale sings"', ["call me ishmael", "the white whale sings"]),
        ("finish the verse: through all the employments of life", ["through all the employments of life"]),
        ("how happy could i be - whats the next line", ["how happy could i be"]),
        ("a dead sinner revised and edited ... how does it go on", ["a dead sinner revised and edited"]),
        ('what does "verbose" mean', []),
        ("the dog's bone isn't the cat's bone", []),
        ("who said hello", []),
    ],
)
def test_quotes_of_three_words_are_found(text: str, quotes: list[str]) -> None:
    assert analyze_question(text).quotes == quotes


def test_relation_is_part_of_the_analysis() -> None:
    question = analyze_question("hi, who created Python?")

    assert (question.text, question.language, question.answer_type) == ("who created Python?", "en", "person")
    assert question.relation_terms == ["created"]
    assert "designed" in question.relation_words
    assert "designed by" in question.fact_names


@pytest.mark.parametrize(
    ("text", "corrected", "answer_type"),
    [
        ("wher is teh grandhotel pup", "where is the grandhotel pup", "place"),
        ("sinonym for farewell", "synonym for farewell", None),
        ("hwo tall is the eiffel tower", "how tall is the eiffel tower", "measure"),
        ("hou teh who got their name", "how the who got their name", None),
        ("wat is een walvis", "wat is een walvis", "definition"),
    ],
)
def test_misspelled_asking_words_are_corrected_in_english(text: str, corrected: str, answer_type: str | None) -> None:
    question = analyze_question(text)

    assert question.text == corrected
    assert answer_type is None or question.answer_type == answer_type


def test_function_words_of_a_language_name_no_relation() -> None:
    assert "come" in function_words("it")
    assert analyze_question("come si fa il pane").relation_terms == []


@pytest.mark.parametrize(
    "text", ["a" + " " * 2000 + "b", "?!" * 500, "谢谢" * 500, "- " * 500, '"' * 1000, "hi " * 330, ""]
)
def test_odd_text_is_analyzed(text: str) -> None:
    assert isinstance(analyze_question(text).text, str)


def test_vocabulary_has_no_stray_blanks() -> None:
    assert [term for terms in load_vocabulary().values() for term in terms if term != term.strip() or not term] == []


@pytest.mark.parametrize(
    ("text", "place", "rest"),
    [
        ("first sentence of moby dick please", "start", "of moby dick"),
        ("what's the opening line of Moby Dick?", "start", "what's the   of Moby Dick"),
        ("how does the novel begin, moby dick", "start", "moby dick"),
        ("what is the last line of moby dick", "end", "what is the   of moby dick"),
        ("Wie lautet der erste Satz von Moby Dick?", "start", "Wie lautet der   von Moby Dick"),
        ("quelle est la première phrase de Moby Dick", "start", "quelle est la   de Moby Dick"),
        ("first line", None, "first line"),
        ("who was the first linesman", None, None),
    ],
)
def test_start_or_end_of_a_text_is_asked_for(text: str, place: str | None, rest: str | None) -> None:
    question = analyze_question(text)

    assert (question.place, question.text) == (place, text if rest is None else rest)
