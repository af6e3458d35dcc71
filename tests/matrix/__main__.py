"""Runs the matrix: every story on a real lab, and what the bot says of it.

`python -m tests.matrix [--stack kafka] [NAME…]`: with names (of runs or of stories) only these are run, of the stack
`small` where none is named. `--again` runs nothing and has the saved cases diagnosed anew, after a change of the bot;
`--page` only writes the page from the kept answers. Ends with 1 when an answer does not agree.
"""

import sys
import tempfile
import time
from itertools import groupby
from pathlib import Path

import httpx

from bot.lab.errors import LabError
from bot.lab.lab import Lab
from tests.matrix.asking import CASES, asked, asked_again, name_of
from tests.matrix.plan import RUNS, Run
from tests.matrix.told import Told, keep, kept, write_page

HOME = Path(tempfile.gettempdir()) / "waterline-matrix"
"""Not below the project: cases hold the paths of what they were read from."""

LAST_POSITION = 12_000
"""Twenty minutes of rows: a savepoint holds each position that is still to come, and a case holds the savepoint."""


def say(text: str) -> None:
    """One line, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main(names: list[str]) -> int:
    """One lab for each kind of Flink; each run has a new table, a new job and a Flink that lists no other."""
    if names == ["--again"]:
        return again()
    if names == ["--page"]:
        write_page(kept())
        return 0
    stack = "small"
    if names[:1] == ["--stack"]:
        stack, names = names[1], names[2:]
    of_stack = [run for run in RUNS if run.stack == stack]
    wanted = [run for run in of_stack if not names or run.name in names or run.story in names]
    disagreeing = []
    for (version, taskmanagers, parallelism, wired, backend, on, _), runs in groupby(
        wanted,
        key=lambda run: (
            run.flink,
            run.taskmanagers,
            run.parallelism,
            run.wired,
            run.backend,
            run.stack,
            run.sink == "dynamic",
        ),
    ):
        with Lab(
            HOME / "lab",
            say=lambda _: None,
            flink=version,
            last_position=LAST_POSITION,
            taskmanagers=taskmanagers,
            parallelism=parallelism,
            wired=wired,
            backend=backend,
            stack=on,
        ) as lab:
            is_up = False
            for run in runs:
                told = one(lab, run, is_up)
                is_up = True
                if not told.agrees_with(run):
                    disagreeing.append(run.name)
    say(f"{len(wanted) - len(disagreeing)} of {len(wanted)} agree. Not: {', '.join(disagreeing) or 'none'}")
    return 1 if disagreeing else 0


def again() -> int:
    """Brings the page up to date with what the bot says of the saved cases now."""
    by_name, told_then = {run.name: run for run in RUNS}, kept()
    disagreeing = []
    for case in sorted(CASES.glob("*.json.gz")):
        told = asked_again(case, told_then[name_of(case)].proof)
        keep(told)
        if not told.agrees_with(by_name[name_of(case)]):
            disagreeing.append(name_of(case))
    say(f"Not as expected: {', '.join(disagreeing) or 'none'}")
    return 1 if disagreeing else 0


def one(lab: Lab, run: Run, is_up: bool) -> Told:
    """Tells the story and asks the bot."""
    began = time.monotonic()
    kind = {"format_version": run.format_version, "upsert": run.upsert}
    try:
        lab.reset(run.sink, forget=True, **kind) if is_up else lab.start(run.sink, **kind)
        lab.tell(run.story)
    except (LabError, httpx.HTTPError) as error:
        say(f"{run.name}: the lab could not tell it. {error}")
        return Told(name=run.name, codes=(), headline=f"Not told: {error}", excluded=(), undecided=(), proof="–")
    told_after = time.monotonic() - began
    told = asked(HOME / "asked", lab, run)
    keep(told)
    sign = "agrees" if told.agrees_with(run) else "DISAGREES"
    say(
        f"{sign} {run.name}: expected {run.expected}, said {told.codes}; {told.headline} [{told.proof}] "
        f"({told_after:.0f} s + {time.monotonic() - began - told_after:.0f} s)"
    )
    return told


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
