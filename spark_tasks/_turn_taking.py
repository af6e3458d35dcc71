"""Who takes turns on main: runs, sinks of one run, or a run and another engine; told by the commits alone."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TypeVar

from bot.domain.ids import JobId, OperatorId
from bot.domain.other_writers import brings_nothing, picked_from
from bot.domain.table import Snapshot, TableState

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True)
class TurnTaking:
    """Returns after somebody else had committed, of each kind."""

    turns: int
    """Of runs."""
    runs: tuple[JobId, ...]
    """Between which they are, in the order of their first commit."""
    sink_turns: int
    """Of sinks, each within its run."""
    sinks: tuple[tuple[JobId, OperatorId], ...]
    engine_turns: int
    """Of a run after another engine had appended, or of that engine after the run."""
    engines: tuple[str, ...]
    beside: tuple[JobId, ...]
    """The runs between whose commits these engines appended."""


def turn_taking(before: Snapshot | None, commits: Sequence[Snapshot], table: TableState) -> TurnTaking:
    """`before`: the newest Flink commit below; `commits`: those of main, oldest first.

    Another engine writes where it appends rows. What only compacts, deletes or rewrites rows is no writer of new ones
    (see F21 of what it took off), nor is a cherry-pick, which publishes what somebody else wrote, nor a repair.
    """
    line = ((before,) if before is not None else ()) + tuple(commits)
    flink = [(s.job_id, s.operator_id) for s in line if s.job_id is not None]
    turns, runs = _returns([job for job, _ in flink])
    sink_turns, sinks = 0, list[tuple[JobId, OperatorId]]()
    for run in dict.fromkeys(job for job, _ in flink):
        more, mixed = _returns([sink for job, sink in flink if job == run and sink is not None])
        sink_turns += more
        sinks += [(run, sink) for sink in mixed]
    beside = _beside(line, table)
    return TurnTaking(
        turns=turns,
        runs=runs,
        sink_turns=sink_turns,
        sinks=tuple(sinks),
        engine_turns=len(beside),
        engines=tuple(dict.fromkeys(engine for engine, _ in beside)),
        beside=tuple(dict.fromkeys(run for _, run in beside)),
    )


def engine_of(commit: Snapshot) -> str:
    """Another writer than a Flink run, as people call it."""
    return {"unknown": "an unknown engine", "flink": "a Flink writer without a job id"}.get(
        commit.engine, commit.engine
    )


def _returns(writers: Sequence[T]) -> tuple[int, tuple[T, ...]]:
    """How often one comes back, and those between which it does, in the order of their first commit."""
    stretches = [each for each, _ in groupby(writers)]
    last: dict[T, int] = {}
    turns, mixed = 0, set[T]()
    for place, each in enumerate(stretches):
        if each in last:
            turns += 1
            mixed |= set(stretches[last[each] : place])
        last[each] = place
    return turns, tuple(each for each in dict.fromkeys(stretches) if each in mixed)


def _beside(line: Sequence[Snapshot], table: TableState) -> list[tuple[str, JobId]]:
    """(engine, run) of each stretch in which another engine appended between two commits of one run that follow each
    other: between two runs it may have had the table for itself."""
    runs = [place for place, commit in enumerate(line) if commit.job_id is not None]
    found = []
    for one, other in pairwise(runs):
        run = line[one].job_id
        if run is not None and run == line[other].job_id:
            between = [commit for commit in line[one + 1 : other] if _appends(table, commit)]
            found += [(engine, run) for engine in dict.fromkeys(map(engine_of, between))]
    return found


def _appends(table: TableState, commit: Snapshot) -> bool:
    is_new = commit.operation == "append" and not commit.is_repair and picked_from(commit) is None
    return is_new and not brings_nothing(table, commit)
