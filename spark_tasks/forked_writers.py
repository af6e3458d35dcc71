"""Do two writers take turns on the table, and of what kind are they?

Who takes turns on main: runs, sinks of one run, or a run and another engine; told by the commits alone.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby, pairwise
from typing import TypeVar

from pyspark.sql import SparkSession

from bot.history.other_jobs import related_runs
from bot.history.other_writers import brings_nothing, picked_from
from bot.observation.evidence import Answer, Ask, Measure, Observation, Task, Verdict
from bot.observation.findings import ForkedWritersFinding, Writer
from bot.observation.flink import JobRun
from bot.observation.ids import JobId, OperatorId, short, short_job, short_operator
from bot.observation.looked import NotSeen
from bot.observation.paths import one_of, plain
from bot.observation.sentences import counted
from bot.observation.table import Snapshot, TableState
from spark_tasks._support.window import Reach, reach_of
from spark_tasks._support.words import MAX_ROWS, answers, cell

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


TASK = Task(
    name="forked_writers",
    title="Concurrent writers",
    version=2,
    question="Do two Flink runs, two sinks of one run, or a run and another engine take turns on the table?",
    confirmed_means="more than one writer commits to the table; the answer says which, and some of these may be meant",
    ruled_out_means="no writers take turns: one took over from the other, or there is only one",
    needs=("table", "jobs"),
    cost="nothing but the snapshots' summaries and what Flink says, which are in hand",
    reads="nothing",
)
_AT_WORK = {"RUNNING", "RESTARTING"}
"""States in which a run writes or will; one that is being cancelled or is only being created does not."""


@answers(TASK)
def answer(_spark: SparkSession, ask: Ask) -> Answer:
    """Turns are told by the commits alone; that no other run is alive only Flink can say.

    Who comes back after another one committed takes a turn; a hand-over from one to the next is none. The newest Flink
    commit below the window counts as the one before its first. Compactions and deletes by other engines are no writers.
    """
    reach = reach_of(ask)
    world = ask.observation
    commits = [commit for commit in reach.main if _writes(commit)]
    before = next((s for s in world.table.ancestors(reach.since) if s.job_id is not None), None)
    taken = turn_taking(before, commits, world.table)
    together = _together(world, reach)
    finding = ForkedWritersFinding(
        writers=_writers(world, commits),
        turns=taken.turns,
        forked=tuple(dict.fromkeys((*taken.runs, *(run.job_id for run in together)))),
        sink_turns=taken.sink_turns,
        sinks=tuple(sink for _, sink in taken.sinks),
        engine_turns=taken.engine_turns,
        engines=taken.engines,
    )
    return _told(world, finding, _taken(taken, together))


def _writes(commit: Snapshot) -> bool:
    return commit.operation != "replace" and (commit.job_id is not None or commit.operation != "delete")


def _told(world: Observation, finding: ForkedWritersFinding, taken: str) -> Answer:
    if taken:
        verdict, headline = Verdict.CONFIRMED, taken
    elif isinstance(world.jobs, NotSeen):
        verdict = Verdict.INCONCLUSIVE
        headline = f"{_calm(finding)}; whether another run is alive is not known, because Flink was not seen."
    else:
        verdict, headline = Verdict.RULED_OUT, f"{_calm(finding)}."
    return Answer(
        verdict=verdict,
        headline=headline,
        measures=(
            Measure(name="writers of main", value=len(finding.writers), unit="writers"),
            Measure(name="turns of runs", value=finding.turns, unit="turns"),
            Measure(name="turns of sinks of one run", value=finding.sink_turns, unit="turns"),
            Measure(name="turns of other engines", value=finding.engine_turns, unit="turns"),
        ),
        columns=("writer", "run", "commits", "first", "last", "alive", "sink", "restored from"),
        rows=tuple(_row(writer) for writer in finding.writers[:MAX_ROWS]),
        finding=finding,
        sources=("snapshot summaries", *(() if isinstance(world.jobs, NotSeen) else (world.jobs.source,))),
        could_not_look=(world.jobs,) if isinstance(world.jobs, NotSeen) else (),
    )


def _together(world: Observation, reach: Reach) -> tuple[JobRun, ...]:
    """Runs of the configured job, and related jobs of them, that are at work at the same time, oldest first, if they
    are several; of a window that ends at the head, since Flink tells of now."""
    alive = sorted((r for r in _runs(world) if r.state in _AT_WORK), key=lambda run: run.started_at)
    return tuple(alive) if len(alive) > 1 and reach.until == world.table.head else ()


def _runs(world: Observation) -> tuple[JobRun, ...]:
    return (*world.jobs.values, *related_runs(world.jobs, world.others))


def _writers(world: Observation, commits: Sequence[Snapshot]) -> tuple[Writer, ...]:
    by_writer: dict[tuple[str | None, str | None, str], list[Snapshot]] = {}
    for commit in commits:
        by_writer.setdefault((commit.job_id, commit.operator_id, commit.engine), []).append(commit)
    others = world.others.values if world.others is not None else ()
    runs = {run.job_id: run for run in (*others, *world.jobs.values)}
    return tuple(_writer(theirs, runs.get(theirs[0].job_id or JobId(""))) for theirs in by_writer.values())


def _writer(commits: Sequence[Snapshot], run: JobRun | None) -> Writer:
    first, last = commits[0], commits[-1]
    return Writer(
        job_id=first.job_id,
        operator_id=first.operator_id,
        engine=first.engine,
        commits=len(commits),
        first=first.snapshot_id,
        last=last.snapshot_id,
        first_at=first.committed_at,
        last_at=last.committed_at,
        is_alive=None if run is None else not run.is_terminal,
        restored_path=run.restored.path if run is not None and run.restored is not None else None,
    )


def _taken(taken: TurnTaking, together: Sequence[JobRun]) -> str:
    """Which kinds there are, a sentence; empty: none."""
    told = []
    if taken.turns:
        mixed = " and ".join(short_job(run) for run in taken.runs[:4])
        told.append(f"runs {mixed} take turns on main ({_times(taken.turns)})")
    if together:
        alive = " and ".join(f"{short_job(run.job_id)} ({run.state})" for run in together[:4])
        path = one_of(run.restored.path for run in together if run.restored and run.restored.path)
        same = f", all restored from {plain(path)}" if path is not None and _all_restored(together) else ""
        told.append(f"{len(together)} runs are alive together: {alive}{same}")
    if taken.sink_turns:
        run = taken.sinks[0][0]
        sinks = " and ".join(short_operator(sink) for job, sink in taken.sinks if job == run)
        told.append(
            f"sinks {sinks} of run {short_job(run)} take turns on main ({_times(taken.sink_turns)}): one job that "
            "writes the table through several sinks"
        )
    if taken.engine_turns:
        runs = " and ".join(short_job(run) for run in taken.beside[:4])
        append = "appends" if len(taken.engines) == 1 else "append"
        told.append(
            f"{' and '.join(taken.engines[:4])} {append} between commits of run {runs} "
            f"({_times(taken.engine_turns)}): another engine writes beside the job"
        )
    text = "; ".join(told)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _times(turns: int) -> str:
    return "once" if turns == 1 else f"{turns} times"


def _all_restored(runs: Sequence[JobRun]) -> bool:
    return all(run.restored is not None and run.restored.path is not None for run in runs)


def _calm(finding: ForkedWritersFinding) -> str:
    flinks = list(dict.fromkeys(w.job_id for w in finding.writers if w.job_id is not None))
    others = [writer for writer in finding.writers if writer.job_id is None]
    runs = f"{counted(len(flinks), 'Flink run')} wrote main" if flinks else "No Flink run wrote main"
    orderly = ", one after the other" if len(flinks) > 1 else ""
    foreign = sum(writer.commits for writer in others)
    also = f"; {counted(foreign, 'commit')} by {' and '.join(sorted({w.engine for w in others}))}" if others else ""
    return f"{runs} in the window{orderly}{also}"


def _row(writer: Writer) -> tuple[str, ...]:
    alive = {True: "yes", False: "no", None: "not known"}[writer.is_alive]
    return (
        writer.engine,
        short_job(writer.job_id) if writer.job_id else "none",
        str(writer.commits),
        f"{short(writer.first)} {_clock(writer.first_at)}",
        f"{short(writer.last)} {_clock(writer.last_at)}",
        alive,
        short_operator(writer.operator_id) if writer.operator_id else "none",
        cell(writer.restored_path),
    )


def _clock(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}"
