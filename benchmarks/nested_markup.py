"""Markup that costs a parser more than it is long: each kind 30,000 times, beside a flat page of the same size."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from measure import table

from openzim_mcp.worker.readers.html.reader import read_html

if TYPE_CHECKING:
    import argparse

LEVELS = 30_000
KINDS = (
    "<ul><li> <ol><li> <dl><dd> <dl><dt>t<dd> <figure> <section> <details> <sub> <sup> <blockquote> <div> <span> <pre> "
    "<table><tr><td> <article> <del> <q> <b> <i><b> <b><div> <ruby><rt> <math><mrow> <svg><g> <code> <button> <a><p> "
    "<font><p> <select><optgroup> <fieldset> <form> <label> <template> <noscript> <object> <marquee>"
).split()
REPEATED = {
    "attributes of one tag": lambda count: b"<p " + b"".join(b"a%d=1 " % number for number in range(count)) + b">",
    "classes of one tag": lambda count: b"<p class='" + b"".join(b"c%d " % number for number in range(count)) + b"'>",
    "<option>": lambda count: b"<select>" + b"<option>x" * count + b"</select>",
    "<b> and <p> in turn": lambda count: b"<b><p>x" * count,
    "<a> in <a>": lambda count: b"<a href=x>y" * count,
    "</p> without start": lambda count: b"</p>" * count,
    "</br> without start": lambda count: b"</br>" * count,
    "comments": lambda count: b"<!--x-->" * count,
    "open comments": lambda count: b"<!--x" * count,
    "<": lambda count: b"<" * count,
    "&": lambda count: b"&amp" * count,
    "ids and links to them": lambda count: b"".join(b"<p id=i%d><a href=#i%d>x</a>" % (n, n) for n in range(count)),
    "headings": lambda count: b"<h2>x</h2>" * count,
    "cells of one row": lambda count: b"<table><tr>" + b"<td>x" * count,
    "style rules": lambda count: (
        b"<style>" + b"".join(b".c%d{display:none}" % n for n in range(count)) + b"</style><p>x"
    ),
}


def _nested(start: str, count: int) -> bytes:
    end = "".join(f"</{tag}>" for tag in reversed(re.findall(r"<(\w+)", start)))
    return f"<p>first {start * count}deep{end * count}<p>last".encode()


def _seconds(raw: bytes) -> float:
    """Return the CPU time of the faster of two readings."""
    durations = []
    for _ in range(2):
        started = time.process_time()
        read_html(raw, "x")
        durations.append(time.process_time() - started)
    return min(durations)


def _flat(size: int) -> bytes:
    return b"<p>some words of a page</p>" * (size // 27 + 1)


async def measure_nesting(_options: argparse.Namespace) -> str:
    """Measure the CPU time to read each kind of page, by half and by all levels, and of a flat page."""
    rows = []
    makers = {kind: lambda count, kind=kind: _nested(kind, count) for kind in KINDS} | REPEATED
    for name, make in makers.items():
        half, whole = make(LEVELS // 2), make(LEVELS)
        times = [_seconds(raw) * 1000 for raw in (_flat(len(whole)), half, whole)]
        growth = times[2] / max(times[1], 1)
        rows.append([f"`{name}`", f"{len(whole) / 1000:.0f}", *(f"{value:.0f}" for value in times), f"{growth:.1f}"])
    head = [f"{LEVELS:,} times", "KB", "flat page, CPU ms", "half as many", "all", "growth from half to all"]
    return table(head, rows)
