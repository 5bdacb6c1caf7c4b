"""The shelf that kinds.py asks: archives in the layouts of the scrapers, with real documents of Debian packages.

The PDFs and the EPUB are those of Debian's documentation packages, got with `apt-get download` on the first run; the
talks, films and stories were written for this project and are in the public domain (CC0).
"""

from __future__ import annotations

import gzip
import itertools
import json
import subprocess
import sys
from pathlib import Path

from measure import ROOT

sys.path.insert(0, str(ROOT / "tests"))

from support.archives import write_zim
from support.epubs import write_epub

_CHARS_PER_SECOND = 14
"""How fast people speak."""
FOLDER = ROOT / "benchmarks" / ".shelf"
PACKAGES = {
    "valgrind": ["usr/share/doc/valgrind/valgrind_manual.pdf"],
    "octave-doc": ["usr/share/doc/octave/octave.pdf"],
    "debian-reference-en": ["usr/share/debian-reference/debian-reference.en.pdf"],
    "r-doc-pdf": ["usr/share/R/doc/manual/R-intro.pdf"],
    "gnuplot-doc": ["usr/share/doc/gnuplot/gnuplot.pdf"],
    "installation-guide-amd64": [
        f"usr/share/doc/installation-guide-amd64/{name}/install.{name}.pdf" for name in ("en", "zh_CN", "ru")
    ],
    "lilypond-doc-pdf": ["usr/share/doc/lilypond/html/Documentation/essay.pdf"],
    "debian-policy": ["usr/share/doc/debian-policy/policy.epub"],
}
TEXTS = json.loads((ROOT / "benchmarks" / "kinds_texts.json").read_text())
TALKS, FILMS = TEXTS["talks"], TEXTS["films"]


def load_documents() -> dict[str, bytes]:
    """Return the documents of the Debian packages, by file name; download them on the first call."""
    FOLDER.mkdir(exist_ok=True)
    for package, names in PACKAGES.items():
        if not all((FOLDER / Path(name).name).exists() for name in names):
            subprocess.run(
                ["/usr/bin/apt-get", "download", "-q", package], cwd=FOLDER, check=True, stdout=subprocess.DEVNULL
            )
            archive = next(FOLDER.glob(f"{package}_*.deb"))
            subprocess.run(["/usr/bin/dpkg-deb", "-x", archive.name, "unpacked"], cwd=FOLDER, check=True)
            for name in names:
                (FOLDER / Path(name).name).write_bytes(_read(FOLDER / "unpacked" / name))
    return {Path(name).name: (FOLDER / Path(name).name).read_bytes() for names in PACKAGES.values() for name in names}


def _read(path: Path) -> bytes:
    packed = Path(f"{path}.gz")
    return gzip.decompress(packed.read_bytes()) if packed.exists() else path.read_bytes()


def write_shelf(folder: Path) -> list[Path]:
    """Write the archives of the shelf."""
    return [_write_library(folder), _write_talks(folder), _write_films(folder)]


def _write_library(folder: Path) -> Path:
    """Write documents as nautilus does."""
    documents = load_documents() | {"lighthouse.txt": TEXTS["story"].encode(), "tides.epub": write_epub(TEXTS["tides"])}
    rows = [
        f"{{'_id': {n}, 'ti': {Path(name).stem!r}, 'dsc': '', 'aut': '', 'fp': [{name!r}]}},\n"
        for n, name in enumerate(documents)
    ]
    pages: dict[str, str | bytes] = {"home": "<h1>Library</h1>", "database.js": f"var DATABASE = [\n{''.join(rows)}];"}
    return write_zim(folder / "library.zim", pages | {f"files/{name}": raw for name, raw in documents.items()})


def sentence_starts(text: str) -> list[tuple[int, str]]:
    """Return the sentences or lines of a talk with the second in which each starts."""
    parts = text.split("\n") if "\n" in text else text.replace(". ", ".\n").split("\n")
    ends = itertools.accumulate((len(part) // _CHARS_PER_SECOND + 1 for part in parts), initial=0)
    return list(zip(ends, parts, strict=False))


def _time(seconds: float) -> str:
    return f"{int(seconds) // 3600:02}:{int(seconds) // 60 % 60:02}:{seconds % 60:06.3f}"


def _write_talks(folder: Path) -> Path:
    """Write talks as ted2zim does: a page and files of subtitles."""
    pages: dict[str, str | bytes] = {"index": "<h1>Talks</h1>"}
    for number, (slug, talk) in enumerate(TALKS.items()):
        title = talk["title"]
        track = f"videos/{number}/subs/subs_en.vtt"
        pages[slug] = (
            f"<html><head><title>{title}</title></head><body><p id=speaker>A speaker</p>"
            f"<p class='title lang-default'>{title}</p><p class='description lang-default'>A talk.</p>"
            f"<video><track kind=subtitles src='{track}' srclang=en label=English></video>"
        )
        cues = [f"{_time(at)} --> {_time(at + 3)}\n{line}\n" for at, line in sentence_starts(talk["text"])]
        pages[track] = "WEBVTT\n\n" + "\n".join(cues)
    return write_zim(folder / "talks.zim", pages, metadata={"Tags": "_category:ted;ted;_videos:yes"})


def _write_films(folder: Path) -> Path:
    """Write films as youtube2zim 3 does, with rolling captions."""
    pages: dict[str, str | bytes] = {"index.html": "<div id=app></div>"}
    for slug, film in FILMS.items():
        title = film["title"]
        refresh = f"0;URL='../index.html#/watch/{slug}'"
        pages[f"index/{slug}"] = (
            f'<html><head><title>{title}</title><meta http-equiv="refresh" content="{refresh}"></head></html>'
        )
        video = {
            "id": slug, "title": title, "description": "A film of the camp.", "subtitlePath": f"videos/{slug}",
            "subtitleList": [{"code": "en", "name": "English - en"}],
            "chapterList": [{"startTime": at, "endTime": at, "title": name} for at, name in film["chapters"]],
        }  # fmt: skip
        pages[f"videos/{slug}.json"] = json.dumps(video)
        pages[f"videos/{slug}/video.en.vtt"] = _rolling(sentence_starts(film["text"]))
    return write_zim(folder / "films.zim", pages, metadata={"Tags": "youtube;_videos:yes"})


def _rolling(lines: list[tuple[int, str]]) -> str:
    cues = []
    last = ""
    for at, line in lines:
        words = "".join(f"<c> {word}</c>" for word in line.split())
        cues.append(f"{_time(at)} --> {_time(at + 2.9)} align:start position:0%\n{last}\n{words}\n")
        cues.append(f"{_time(at + 2.9)} --> {_time(at + 2.99)}\n{line}\n \n")
        last = line
    return "WEBVTT\nKind: captions\n\n" + "\n".join(cues)
