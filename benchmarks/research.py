"""Research tasks, from the first call to the last, by a client that uses only what results say: runs research.jsonl.

    python benchmarks/research.py                          this project's server, both modes; writes RESULTS.md
    python benchmarks/research.py --server "CMD {zimdirs}" another version of it; nothing is written
    python benchmarks/research.py --verbose                each call and what it brought

A line of research.jsonl is a task, with the fields

    id, goal  what a person wants to know
    steps     the calls, each with the fields
      query     the arguments of `zim_query`, or only its query: the call in simple mode
      call      a tool and its arguments: the call in advanced mode
      expect    a regular expression, for both modes: what the result must have to be of use for the goal
      take      names of values and regular expressions: what is taken from the text of the result, in simple mode
      take_json names of values and their places in the structured result (`results.0.path`), in advanced mode

`{name}` in a call stands for a value that was taken. The rule by which each call is marked, before any is made:

    failed            the result is an error, or says that nothing was found; or the call could not be made, because an
                      earlier result lacked a value that it needs
    useful            otherwise, if `expect` is found in the result
    beside the point  otherwise

A call is *offered* if it has a value in it that a result gave: such a call must never fail. All archives of
../shared/zims that can be read are served together.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measure import OURS, ZIMS, Server, report, table

from openzim_mcp import tokens

TASKS = Path(__file__).parent / "research.jsonl"
COMMAND = f"{shlex.join(OURS)} {{zimdirs}}"
MARKS = ("useful", "beside the point", "failed")
NOTHING_FOUND = re.compile(r"\A(?:Not found here|Nothing was found|No archive )")
SHOWN_CHARS = 300


@dataclass(frozen=True)
class Outcome:
    """One call: what was asked, how it is marked, whether a result had offered it, and what it costs."""

    task: str
    request: str
    mark: str
    offered: bool = False
    tokens: float = 0.0
    text: str = ""


@dataclass
class Run:
    """One task in one mode: the values taken so far, and the calls."""

    server: Server
    task: dict[str, Any]
    is_advanced: bool
    values: dict[str, str] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)

    def play(self) -> list[Outcome]:
        """Make all calls."""
        for step in self.task["steps"]:
            self._step(step)
        return self.outcomes

    def _step(self, step: dict[str, Any]) -> None:
        tool, template = step["call"] if self.is_advanced else ("zim_query", step["query"])
        template = template if isinstance(template, dict) else {"query": template}
        names = set(re.findall(r"\{(\w+)\}", json.dumps(template)))
        if not names <= set(self.values):
            self.outcomes.append(
                Outcome(self.task["id"], f"{tool} {template}", "failed", offered=True, text="no value")
            )
            return
        arguments = {name: self._fill(value) for name, value in template.items()}
        result = self.server.request("tools/call", {"name": tool, "arguments": arguments}).get("result", {})
        text = "\n".join(block.get("text", "[image]") for block in result.get("content", []))
        mark = mark_result(result, text, step["expect"])
        request = f"{tool} {json.dumps(arguments, ensure_ascii=False)}"
        self.outcomes.append(Outcome(self.task["id"], request, mark, bool(names), tokens.estimate(text), text))
        self._take(step, result, text)

    def _fill(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        filled = re.sub(r"\{(\w+)\}", lambda name: self.values[name[1]], value)
        return int(filled) if value.startswith("{") and filled.isdecimal() else filled

    def _take(self, step: dict[str, Any], result: dict[str, Any], text: str) -> None:
        for name, pattern in step.get("take", {}).items() if not self.is_advanced else ():
            match = re.search(pattern, text)
            if match:
                self.values[name] = match[match.lastindex or 0]
        for name, place in step.get("take_json", {}).items() if self.is_advanced else ():
            value = find_value(result.get("structuredContent"), place)
            if value is not None:
                self.values[name] = str(value)


def find_value(payload: Any, place: str) -> Any:
    """Return the value at a place such as `results.0.path`; None if there is none."""
    for key in place.split("."):
        try:
            payload = payload[int(key)] if isinstance(payload, list) else payload[key]
        except (KeyError, IndexError, TypeError, ValueError):
            return None
    return payload


def mark_result(result: dict[str, Any], text: str, expect: str) -> str:
    """Mark a result by the rule."""
    if not result or result.get("isError") or NOTHING_FOUND.match(text):
        return "failed"
    return "useful" if re.search(expect, text, re.IGNORECASE | re.DOTALL) else "beside the point"


def run_tasks(command: str, *, is_advanced: bool) -> list[Outcome]:
    """Play all tasks on one server, one connection for each."""
    directories = shlex.join(str(ZIMS / name) for name in ("real", "built"))
    mode = " --mode advanced" if is_advanced else ""
    outcomes: list[Outcome] = []
    server = Server.start(shlex.split(command.replace("{zimdirs}", directories) + mode))
    try:
        server.initialize()
        for line in TASKS.read_text(encoding="utf-8").splitlines():
            outcomes += Run(server, json.loads(line), is_advanced).play()
    finally:
        server.stop()
    return outcomes


def summarize(outcomes: list[Outcome]) -> list[str]:
    """Return the calls, those of each mark, the offered ones that failed, and the tokens of all results."""
    marks = Counter(outcome.mark for outcome in outcomes)
    offered = sum(outcome.offered and outcome.mark == "failed" for outcome in outcomes)
    useful = f"{marks['useful'] / len(outcomes):.0%}"
    total = sum(outcome.tokens for outcome in outcomes)
    tasks = len({outcome.task for outcome in outcomes})
    counts = [str(marks[mark]) for mark in MARKS]
    return [str(len(outcomes)), *counts, useful, str(offered), f"{total:.0f}", f"{total / tasks:.0f}"]


def main() -> int:
    """Play all tasks in both modes; the exit code is 1 if an offered call failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=COMMAND, help='another server\'s command, as "CMD {zimdirs}"')
    parser.add_argument("--verbose", action="store_true", help="show each call")
    options = parser.parse_args()
    rows, all_outcomes = [], []
    for mode in ("simple", "advanced"):
        outcomes = run_tasks(options.server, is_advanced=mode == "advanced")
        rows.append([mode, *summarize(outcomes)])
        all_outcomes += outcomes
    header = ["mode", "calls", *MARKS, "share useful", "offered and failed", "tokens", "per task"]
    result = table(header, rows)
    if options.server != COMMAND:
        print(result)
    for outcome in all_outcomes:
        if options.verbose or outcome.mark != "useful":
            print(f"{outcome.mark}: {outcome.task}: {outcome.request}\n  {outcome.text[:SHOWN_CHARS]!r}")
    if options.server == COMMAND:
        report("research", "python benchmarks/research.py", result)
    return int(any(outcome.offered and outcome.mark == "failed" for outcome in all_outcomes))


if __name__ == "__main__":
    sys.exit(main())
