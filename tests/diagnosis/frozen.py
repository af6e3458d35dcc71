"""What the diagnosis once said of very many histories and of all saved cases, kept, and held against what it says now.

Of each: the codes that match with remedy, last good snapshot, what is known of its rows and the wrong run; whether
`healthy` matches, is excluded or open; and what is asked for: as the bot finds it, and again once the tasks that were
asked for have looked once more. Each history's story is kept as a checksum, so that a simulator that plays a seed
differently is not taken for another answer.

    python -m tests.diagnosis.frozen compare [--seeds 0-2000]
    python -m tests.diagnosis.frozen record [--seeds 0-2000]

Read some of the histories that differ, and judge them by the truth, before the new answers are kept.
"""

import argparse
import gzip
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from bot.diagnosis._support.examine import diagnose
from bot.incident.diagnosis import HEALTHY, Diagnosis
from bot.observation.ids import short
from tests.diagnosis.changed_cases import NAMES, case_named, is_wrong
from tests.diagnosis.histories import held, test_found_histories
from tests.diagnosis.histories.drawn import Drawn, Plan, plan_of, played

KEPT = Path(__file__).parents[1] / "data" / "frozen_answers.jsonl.gz"
DRAWN = 10_000
"""So many seeds of each kind are kept."""
MISTAKES, ORDINARY, FOUND, REAL = "with mistakes", "ordinary", "found", "real"
_TOGETHER = 200


class Answer(NamedTuple):
    """A diagnosis without its sentences."""

    healthy: str
    """The verdict of `healthy`."""
    matches: Mapping[str, tuple[str, str, str, str]]
    """Code -> remedy, last good snapshot, what is known of its rows, wrong run."""
    asks: tuple[str, ...]

    @classmethod
    def of(cls, told: Diagnosis) -> "Answer":
        """What of it is kept."""
        matches = {}
        for mode, match in told.matches:
            good = short(match.last_good) if match.last_good is not None else ""
            rows = match.last_good_rows.name if match.last_good_rows is not None else ""
            matches[mode.code] = (match.remedy.name, good, rows, (match.wrong_run or "")[:6])
        healthy = next((each.examined.verdict for each in told.results if each.mode.code == HEALTHY), "gone")
        return cls(healthy, matches, tuple(sorted(told.asks)))

    def packed(self) -> list[object]:
        """As it is kept."""
        return [self.healthy, [[code, *told] for code, told in self.matches.items()], list(self.asks)]

    @classmethod
    def unpacked(cls, kept: list) -> "Answer":  # type: ignore[type-arg]
        healthy, matches, asks = kept
        return cls(healthy, {code: tuple(told) for code, *told in matches}, tuple(asks))


class Told(NamedTuple):
    """What is kept of one history or case."""

    key: str
    """`with mistakes 17`, `ordinary 17`, `found …`, `real …`."""
    story: int
    """What happened, as a checksum; 0 of a real case, which is a file."""
    first: Answer
    after: Answer | None
    """Once what was asked for has looked again; None: nothing was."""
    truth: str = "?"
    """Not kept: counted where it is needed."""


class Difference(NamedTuple):
    """One aspect in which an answer changed."""

    kind: str
    key: str
    truth: str

    @property
    def label(self) -> str:
        """Its kind, with what is true of the rows."""
        return f"{self.kind} (rows are {self.truth})"


# ---------------------------------------------------------------------- what is said now


@cache
def found_plans() -> Mapping[str, Plan]:
    """Each reduced plan of the found histories."""
    dicts = {name: each for name, each in vars(test_found_histories).items() if isinstance(each, dict)}
    return {
        f"{FOUND} {name} {label}": plan
        for name, plans in dicts.items()
        for label, plan in plans.items()
        if isinstance(plan, Plan)
    }


def keys(seeds: range = range(DRAWN)) -> list[str]:
    """Whatever is kept, of these seeds."""
    drawn = [f"{kind} {seed}" for kind in (MISTAKES, ORDINARY) for seed in seeds]
    return [*drawn, *found_plans(), *(f"{REAL} {name}" for name in NAMES)]


def told_now(key: str) -> Told:
    """What the diagnosis says of it."""
    kind = next(each for each in (MISTAKES, ORDINARY, FOUND, REAL) if key.startswith(f"{each} "))
    if kind == REAL:
        name = key.removeprefix(f"{REAL} ")
        truth = "wrong" if is_wrong(name) else "right"
        return Told(key, 0, Answer.of(diagnose(case_named(name), held.MODES)), None, truth)
    plan = found_plans()[key] if kind == FOUND else plan_of(int(key.split()[-1]), with_mistakes=kind == MISTAKES)
    drawn = played(plan)
    then = held.asked_again(drawn)
    after = Answer.of(held.answered(then)) if then is not drawn else None
    return Told(key, crc32("\n".join(drawn.steps).encode()), Answer.of(held.answered(drawn)), after, _truth(drawn))


def _truth(drawn: Drawn) -> str:
    return "wrong" if held.truth_for(drawn).is_wrong else "right"


def _told_of_many(these: Sequence[str]) -> list[Told]:
    return [told_now(key) for key in these]


def told_by_processes(these: Sequence[str], processes: int) -> Iterator[Told]:
    """The same as one after the other, in their order."""
    parts = [these[first : first + _TOGETHER] for first in range(0, len(these), _TOGETHER)]
    if processes == 1:
        yield from (told for part in parts for told in _told_of_many(part))
        return
    with get_context("spawn").Pool(processes) as pool:
        for found in pool.imap(_told_of_many, parts):
            yield from found


# ---------------------------------------------------------------------- what is kept


@cache
def kept() -> dict[str, Told]:
    """Key -> what was said once."""
    with gzip.open(KEPT, "rt", encoding="utf-8") as lines:
        told = (json.loads(line) for line in lines)
        return {
            key: Told(key, story, Answer.unpacked(first), Answer.unpacked(after[0]) if after else None)
            for key, story, first, *after in told
        }


def keep(told: Iterable[Told]) -> int:
    """Writes them all, the same bytes for the same answers; how many there are."""
    lines = []
    for key, story, first, after, _ in told:
        line = [key, story, first.packed(), *([after.packed()] if after is not None else [])]
        lines.append(json.dumps(line, separators=(",", ":")))
    with KEPT.open("wb") as raw, gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=9, mtime=0) as file:
        file.write("\n".join(lines).encode())
    return len(lines)


# ---------------------------------------------------------------------- what differs


def differences(before: Told, now: Told) -> list[Difference]:
    """Every aspect in which they differ; another story makes all else incomparable."""
    if before.story != now.story:
        return [Difference("the simulator plays another history", now.key, now.truth)]
    kinds = list(_kinds(before.first, now.first))
    if before.after is not None and now.after is not None:
        kinds += [f"looked again: {kind}" for kind in _kinds(before.after, now.after)]
    return [Difference(kind, now.key, now.truth) for kind in dict.fromkeys(kinds)]


def _kinds(before: Answer, now: Answer) -> Iterator[str]:
    if before.healthy != now.healthy:
        yield f"{HEALTHY}: {before.healthy} -> {now.healthy}"
    if told := _gone_and_come(before.matches, now.matches):
        yield f"codes: {told}"
    for code in before.matches.keys() & now.matches.keys():
        then, here = before.matches[code], now.matches[code]
        if then[0] != here[0]:
            yield f"{code}: remedy {then[0]} -> {here[0]}"
        if then[1] != here[1]:
            yield f"{code}: last good"
        if then[2] != here[2]:
            yield f"{code}: rows up to it {then[2]} -> {here[2]}"
        if then[3] != here[3]:
            yield f"{code}: wrong run"
    fewer, more = {*before.asks} - {*now.asks}, {*now.asks} - {*before.asks}
    if fewer or more:
        yield f"asks: {'others' if fewer and more else 'fewer' if fewer else 'more'}"


def _gone_and_come(before: Iterable[str], now: Iterable[str]) -> str:
    gone, come = {*before} - {*now}, {*now} - {*before}
    return " ".join([*(f"-{each}" for each in sorted(gone)), *(f"+{each}" for each in sorted(come))])


def grouped(found: Iterable[Difference]) -> Iterator[str]:
    """How many of each label, and the first keys."""
    groups = dict[str, list[str]]()
    for each in found:
        groups.setdefault(each.label, []).append(each.key)
    for label, those in sorted(groups.items(), key=lambda pair: -len(pair[1])):
        yield f"{len(those):5}  {label}  {'; '.join(those[:4])}"


def main(arguments: Sequence[str]) -> int:
    """1 where an answer differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.diagnosis.frozen")
    parser.add_argument("what", choices=("record", "compare"))
    parser.add_argument("--seeds", default=f"0-{DRAWN}", help="of both kinds; found plans and real cases always")
    parser.add_argument("--processes", type=int, choices=(1, 2), default=2)
    asked = parser.parse_args(arguments)
    first, _, end = asked.seeds.partition("-")
    before, these = kept(), keys(range(int(first), int(end)))
    now = {told.key: told for told in told_by_processes(these, asked.processes)}
    if asked.what == "record":
        number = keep((before | now)[key] for key in keys())
        sys.stdout.write(f"{number} answers kept, {KEPT.stat().st_size} bytes\n")
        return 0
    found = [each for key, told in now.items() if key in before for each in differences(before[key], told)]
    sys.stdout.write("".join(f"{line}\n" for line in grouped(found)))
    sys.stdout.write(f"{len(these)} looked at; {len(found)} differences\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
