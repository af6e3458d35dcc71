"""Holds any judge of a table against the truth of drawn histories, against today's answer, and against real cases.

A judge is a function that takes a `Case` and answers `right`, `wrong`, `unknown` or `wait`; what follows a colon is its
reason: `unknown: the root of run a is not known`. By it `right` means that main's rows of the window are there once and
stay so: all that has to be true before anybody may say that nothing is wrong.

    python -m tests.diagnosis.differential MODULE:FUNCTION --seeds 40000-41500 [--with-mistakes | --ordinary]
        [--wide] [--no-others] [--processes 2] [--stories 3] [--beside MODULE:FUNCTION]
    python -m tests.diagnosis.differential MODULE:FUNCTION --real
"""

import argparse
import importlib
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from multiprocessing import get_context
from typing import NamedTuple

from bot.diagnosis._examine import VOUCHING, diagnose
from bot.domain.diagnosis import HEALTHY, Act, CannotTell, Case, Diagnosis, Excluded
from bot.domain.doubt import faults_in
from tests.diagnosis.changed_cases import NAMES, case_named, is_wrong
from tests.diagnosis.histories import held
from tests.diagnosis.histories.drawn import OF_A_GUEST, OF_SPARK, Drawn, Plan, plan_of, played, reduced
from tests.matrix.plan import RUNS
from tests.matrix.told import kept

Judge = Callable[[Case], str]
ANSWERS = ("right", "wrong", "unknown", "wait")
OTHERS = frozenset({*OF_SPARK, *OF_A_GUEST})
_OF_ONE_HISTORY = re.compile(r"(?<!F)…?(?<![F\d])\d[\d:]*|\b([a-z])\1{5}\b")
"""Numbers, times, ids and runs: reasons that differ in nothing else are one."""
_TOGETHER = 50
"""So many seeds a process takes at once."""


class Answer(NamedTuple):
    """What a judge said."""

    word: str
    reason: str

    @classmethod
    def of(cls, judge: Judge, case: Case) -> "Answer":
        """Raises ValueError where it is none of `ANSWERS`."""
        word, _, reason = judge(case).partition(":")
        if word not in ANSWERS:
            raise ValueError(f"A judge answers one of {', '.join(ANSWERS)}, then perhaps a colon and why; not {word!r}")
        return cls(word, reason.strip())


class Held(NamedTuple):
    """One look at one history: before anything is asked for again, or after."""

    seed: int
    is_after: bool
    truth: str
    """`right` or `wrong`, for the rows of the window."""
    said: Answer
    beside: Answer


def today(case: Case) -> str:
    """What the diagnosis as a whole says: the rows are right, a fault of them holds, or neither."""
    return _in_a_word(diagnose(case, held.MODES))


def _in_a_word(told: Diagnosis) -> str:
    codes = frozenset(told.codes)
    accusing = [mode.code for mode, _ in faults_in(told) if mode.act is not Act.NOTE]
    if accusing:
        return f"wrong: {', '.join(accusing)}"
    if codes & VOUCHING:
        return f"right: {', '.join(sorted(codes & VOUCHING))}"
    why = next((each.examined for each in told.results if each.mode.code == HEALTHY), None)
    reason = "; ".join(why.missing) if isinstance(why, CannotTell) else why.reason if isinstance(why, Excluded) else ""
    return f"{'wait' if 'wait' in codes else 'unknown'}: {reason}"


def looks_at(plan: Plan, judge: Judge, beside: Judge) -> Iterator[Held]:
    """Both looks of one history, held against the truth."""
    first = played(plan)
    for is_after, drawn in enumerate((first, held.asked_again(first))):
        case = held.case_for(drawn)
        yield Held(plan.seed, bool(is_after), _truth(drawn), Answer.of(judge, case), Answer.of(beside, case))


def is_unsound(plan: Plan, judge: Judge) -> bool:
    """Whether rows are wrong, and the judge calls them right, at one of the two looks."""
    first = played(plan)
    for drawn in (first, held.asked_again(first)):
        if _truth(drawn) == "wrong" and Answer.of(judge, held.case_for(drawn)).word == "right":
            return True
    return False


def unsound_story(plan: Plan, judge: Judge) -> str:
    """The least history in which the judge still calls wrong rows right, with all that happened in it."""
    plan = reduced(plan, partial(is_unsound, judge=judge))
    first = played(plan)
    said = [Answer.of(judge, held.case_for(d)) for d in (first, held.asked_again(first))]
    return held.in_words(plan, tuple(f"the judge: {word} ({reason or 'no reason'})" for word, reason in said))


def named(path: str) -> Judge:
    """The function that `module:function` names."""
    module, _, name = path.partition(":")
    found: Judge = getattr(importlib.import_module(module), name)
    return found


# ---------------------------------------------------------------------- many seeds


class Task(NamedTuple):
    """What a process does: it finds the judges by their names."""

    seeds: Sequence[int]
    with_mistakes: bool
    judge: str
    beside: str = "tests.diagnosis.differential:today"
    no_others: bool = False
    wide: bool = False

    def plan(self, seed: int) -> Plan:
        """What happens in it."""
        return plan_of(seed, with_mistakes=self.with_mistakes, wide=self.wide)


def looks_at_many(task: Task) -> list[Held]:
    """Of these seeds; those apart in which others write, where they are not wanted."""
    judge, beside = named(task.judge), named(task.beside)
    plans = (task.plan(seed) for seed in task.seeds)
    wanted = (plan for plan in plans if not (task.no_others and _has_others(plan)))
    return [look for plan in wanted for look in looks_at(plan, judge, beside)]


def looks(task: Task, processes: int) -> list[Held]:
    """The same, by several processes."""
    parts = [
        task._replace(seeds=task.seeds[first : first + _TOGETHER]) for first in range(0, len(task.seeds), _TOGETHER)
    ]
    if processes < 2 or len(parts) < 2:
        return [look for part in parts for look in looks_at_many(part)]
    with get_context("spawn").Pool(processes) as pool:
        return [look for found in pool.imap(looks_at_many, parts) for look in found]


def _truth(drawn: Drawn) -> str:
    return "wrong" if held.truth_for(drawn).is_wrong else "right"


def _has_others(plan: Plan) -> bool:
    return bool(OTHERS & {event.name for event in (*plan.events, *plan.then, *plan.meanwhile)})


# ---------------------------------------------------------------------- what comes of it


def summary(found: Iterable[Held]) -> Iterator[str]:
    """Truth and answer of both judges, then each right history that only one of them proves."""
    every = list(found)
    for is_after, name in ((False, "at first"), (True, "after what was asked for looked again")):
        these = [each for each in every if each.is_after == is_after]
        yield f"{name}, {len(these)} histories:"
        for truth in ("right", "wrong"):
            of_it = [each for each in these if each.truth == truth]
            new, old = Counter(each.said.word for each in of_it), Counter(each.beside.word for each in of_it)
            yield f"  {truth} {len(of_it):6}: the judge {_counts(new)}; beside it {_counts(old)}"
        yield from _differences(these, name)


def _differences(these: Sequence[Held], name: str) -> Iterator[str]:
    right = [each for each in these if each.truth == "right"]
    lost = [each for each in right if each.beside.word == "right" and each.said.word != "right"]
    won = [each for each in right if each.said.word == "right" and each.beside.word != "right"]
    accused = [each for each in right if each.said.word == "wrong"]
    for told, those in (
        ("right, and only the other proves it", lost),
        ("right, and only the judge proves it", won),
        ("right, and the judge accuses it", accused),
    ):
        yield f"  {told}: {len(those)} ({name})"
        yield from _by_reason(those, of_other=those is won)


def _by_reason(these: Iterable[Held], *, of_other: bool) -> Iterator[str]:
    seeds = dict[str, list[int]]()
    for each in these:
        answer = each.beside if of_other else each.said
        seeds.setdefault(f"{answer.word}: {_OF_ONE_HISTORY.sub('#', answer.reason)}", []).append(each.seed)
    for reason, those in sorted(seeds.items(), key=lambda pair: -len(pair[1])):
        yield f"    {len(those):4} {reason[:200]}  seeds {', '.join(map(str, those[:6]))}"


def _counts(words: Counter[str]) -> str:
    return " ".join(f"{word} {words[word]}" for word in ANSWERS)


def real_cases(judge: Judge) -> Iterator[str]:
    """Each saved case of a real run: what the judge says, the codes that are expected, and the lab's own count."""
    expected = {run.name: run.expected for run in RUNS}
    for name in NAMES:
        said = Answer.of(judge, case_named(name))
        is_expected = bool(VOUCHING & set(expected[name]))
        unsound = said.word == "right" and is_wrong(name)
        is_lost = is_expected and said.word != "right"
        is_accused = said.word == "wrong" and not is_wrong(name) and not held.OF_ROWS & set(expected[name])
        mark = "UNSOUND" if unsound else "ACCUSED" if is_accused else "LOST" if is_lost else ""
        codes = ", ".join(expected[name])
        yield f"{mark:8}{said.word:8}{name:52}{codes:12}{kept()[name].proof}; {said.reason[:120]}"


def main(arguments: Sequence[str]) -> int:
    """1 where a wrong history was called right."""
    parser = argparse.ArgumentParser(prog="python -m tests.diagnosis.differential")
    parser.add_argument("judge", help="module:function, which takes a Case and answers a word")
    parser.add_argument("--beside", default="tests.diagnosis.differential:today", help="what it is compared with")
    parser.add_argument("--seeds", default="40000-41500", help="first, and the one after the last")
    parser.add_argument("--with-mistakes", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--ordinary", dest="with_mistakes", action="store_false")
    parser.add_argument("--wide", action="store_true", help="histories of a source with more to it")
    parser.add_argument("--no-others", action="store_true", help="leave out histories in which others write the table")
    parser.add_argument("--processes", type=int, choices=(1, 2), default=2)
    parser.add_argument("--stories", type=int, default=3, help="so many unsound answers are reduced and told")
    parser.add_argument("--real", action="store_true", help="the saved cases of real runs instead")
    asked = parser.parse_args(arguments)
    if asked.real:
        lines = list(real_cases(named(asked.judge)))
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        return int(any(line.startswith("UNSOUND") for line in lines))
    first, _, end = asked.seeds.partition("-")
    seeds = range(int(first), int(end))
    task = Task(seeds, asked.with_mistakes, asked.judge, asked.beside, asked.no_others, asked.wide)
    found = looks(task, asked.processes)
    sys.stdout.write("".join(f"{line}\n" for line in summary(found)))
    wrong = {each.seed: each for each in found if each.truth == "wrong" and each.said.word == "right"}
    sys.stdout.write(f"wrong, and called right: {len(wrong)} {' '.join(map(str, wrong))}\n")
    for seed in list(wrong)[: asked.stories]:
        sys.stdout.write(f"\n{unsound_story(task.plan(seed), named(asked.judge))}\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
