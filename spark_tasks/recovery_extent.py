"""What would a restore bring back, and what not?"""

from collections.abc import Sequence
from datetime import datetime

from pyspark.sql import SparkSession

from bot.domain.evidence import Answer, Ask, Measure, Task, Verdict
from bot.domain.findings import Pairing, PairVerdict, RecoveryExtentFinding, RestoreReach
from bot.domain.ids import SnapshotId, short
from bot.domain.looked import NotSeen
from bot.domain.sentences import counted
from bot.domain.table import Snapshot
from bot.domain.unread_points import beside
from bot.history.ranking import recovering
from bot.history.recovery_deadline import deadline_in_short, recovery_deadline
from spark_tasks._data_files import DataFile, data_added, files_of
from spark_tasks._event_time import newest_with_rows
from spark_tasks._restore_reach import Brought, reach_of_point, source_in_words
from spark_tasks._words import MAX_ROWS, cell, could_not, lasting, shown

TASK = Task(
    name="recovery_extent",
    title="Recovery extent",
    question="What would a restore of the job bring back, and what would it not?",
    confirmed_means="job and table can go on together from at least one restore point. Before anybody restores, read "
    "aloud what it cannot bring back",
    ruled_out_means="from no restore point can job and table go on together",
    needs=("table", "checkpoints", "flink_manifests"),
    cost="manifests of the window's commits, and of three commits below each paired snapshot",
    reads="metadata",
    version=4,
    confirmed_is="relief",
)
MAX_POINTS = 50
_BELOW = 3
_WHOLE = {"int", "long"}
_COLUMNS = (
    "restore point", "checkpoint", "verdict", "snapshot", "state", "owes", "position", "source goes on",
    "rows again", "cannot bring back",
)  # fmt: skip


def answer(spark: SparkSession, ask: Ask) -> Answer:
    """Every restore point that can be read, the best first: those that bring job and table back, the newest first.

    Rows to read again are those that Flink committed on main above the paired snapshot and above its source position,
    each position once, by the bounds of the files; at the most so many where bounds or positions do not tell.
    State files beside `_metadata` are taken from its word and not opened, but for the committer's and those of Kafka
    sources, whose next offsets are told. `ruled-out` only when every point could be read and what it owes is known.
    """
    world = ask.observation
    if isinstance(world.checkpoints, NotSeen):
        return could_not(f"The restore points could not be listed: {world.checkpoints.reason}", world.checkpoints)
    known = recovering(ask)
    readable = [each for each in known if each.pair.verdict is not PairVerdict.UNREADABLE]
    positions, brought = _positions(spark, ask, [each.pair for each in readable])
    points = [reach_of_point(ask, each, positions, brought) for each in readable[:MAX_POINTS]]
    deadline = recovery_deadline(ask, points=known)
    finding = RecoveryExtentFinding(points=tuple(points), deadline=deadline)
    unseen = tuple(each for each in (world.flink_manifests, world.jobs) if isinstance(each, NotSeen))
    unknown = len(known) - len(readable) + sum(not each.stored.is_committer_read for each in readable)
    good = [point for point in finding.points if point.brings_back]
    is_open = unknown > 0 or isinstance(world.flink_manifests, NotSeen)
    until = deadline_in_short(deadline, world.table.read_at) if deadline is not None else ()
    nearer = beside(world.checkpoints) if good else None
    verdict = Verdict.CONFIRMED if good else Verdict.INCONCLUSIVE if is_open else Verdict.RULED_OUT
    return Answer(
        verdict=verdict,
        headline=" ".join(filter(None, (_headline(ask, good, len(known), unknown, unseen), nearer, *until))),
        measures=_measures(good, len(known)),
        columns=_COLUMNS,
        rows=tuple(_row(ask, point) for point in finding.points[:MAX_ROWS]),
        finding=finding,
        sources=(world.checkpoints.source, "bounds of the files below each paired snapshot"),
        could_not_look=unseen,
    )


def _positions(spark: SparkSession, ask: Ask, pairs: Sequence[Pairing]) -> tuple[dict[SnapshotId, int], Brought]:
    """(Paired snapshot -> highest source position of its table state, without those for which no file tells; the files
    of the window's commits and of these).

    Looked for in the window's commits and in the newest three with rows: a state's highest position is among its
    newest commits, unless a job has read older records again since before the window.
    """
    table = ask.observation.table
    position = next((c for c in table.columns if c.name == ask.contract.position and c.type in _WHOLE), None)
    states = {pair.snapshot_id for pair in pairs if pair.snapshot_id is not None}
    if position is None or not states:
        return {}, {}
    inside = {s.snapshot_id: s for s in ask.window.of(table)}
    held: dict[SnapshotId, list[Snapshot]] = {}
    for state in states:
        near = [s for s in table.ancestors(state) if s.snapshot_id in inside]
        held[state] = list({s.snapshot_id: s for s in (*near, *newest_with_rows(table, state, _BELOW))}.values())
    commits = inside | {s.snapshot_id: s for commits in held.values() for s in commits}
    brought: dict[SnapshotId, list[DataFile]] = {commit: [] for commit in commits}
    for file in data_added(files_of(spark, list(commits.values()), position)):
        brought[file.snapshot_id].append(file)
    highest = {
        commit: max(told)
        for commit, files in brought.items()
        if (told := [file.high for file in files if file.high is not None])
    }
    tops = {state: [highest[s.snapshot_id] for s in held[state] if s.snapshot_id in highest] for state in states}
    return {state: max(found) for state, found in tops.items() if found}, brought


def _headline(ask: Ask, good: Sequence[RestoreReach], count: int, unknown: int, unseen: Sequence[NotSeen]) -> str:
    if count == 0:
        return "Storage holds no savepoint and no retained checkpoint: only a start without state is possible."
    if not good:
        none = f"From none of {counted(count, 'restore point')} do job and table come together"
        if unknown:
            return f"{none}, but {unknown} could not be read whole."
        return f"{none}, but {unseen[0].source} was not seen." if unseen else f"{none}."
    best = good[0]
    state = f"{size(best.state_bytes)} of state" if best.state_bytes is not None else "state of unknown size"
    what = f"{best.checkpoint_kind.value.replace('-', ' ')} {best.checkpoint_id}"
    again = "" if best.snapshot_id is None else f" with snapshot {short(best.snapshot_id)}"
    if best.source_positions:
        again += f", and lets its source go on with {source_in_words(best.source_positions, ask.contract)}"
    if best.to_read_again:
        is_told = best.position_until is not None and not ask.contract.hides(ask.contract.position)
        above = f" above position {best.position_until:,}" if is_told else ""
        at_most = "at most " if best.is_at_most else ""
        again += f"; {at_most}{counted(best.to_read_again, 'row')}{above} would be read and written again"
    elif best.to_read_again == 0:
        again += "; no row would have to be read again"
    else:
        again += ", and first commits what it owes"
    return f"The best of {counted(count, 'restore point')}, {what}, brings back {state}{again}."


def _measures(good: Sequence[RestoreReach], count: int) -> tuple[Measure, ...]:
    told = [
        Measure(name="restore points", value=count, unit="restore points"),
        Measure(name="that bring job and table back", value=len(good), unit="restore points"),
    ]
    if good and good[0].state_bytes is not None:
        told.append(Measure(name="state of the best", value=good[0].state_bytes, unit="bytes"))
    if good and good[0].to_read_again is not None:
        told.append(Measure(name="rows to read again from the best", value=good[0].to_read_again, unit="rows"))
    return tuple(told)


def _row(ask: Ask, point: RestoreReach) -> tuple[str, ...]:
    age = "" if point.written_at is None else f", {_age(ask, point.written_at)} ago"
    gone = f", {len(point.missing_manifests)} gone" if point.missing_manifests else ""
    return (
        point.path,
        f"{cell(point.checkpoint_id)} ({point.checkpoint_kind.value}{age})",
        point.verdict.value,
        short(point.snapshot_id),
        "unknown" if point.state_bytes is None else size(point.state_bytes),
        f"{len(point.pending_manifests)}{gone}",
        shown(ask.contract.position or "", point.position_until, ask.contract),
        source_in_words(point.source_positions, ask.contract) or "unknown",
        f"{'at most ' if point.is_at_most else ''}{cell(point.to_read_again)}",
        " ".join(point.cannot) or "nothing that is known",
    )


def _age(ask: Ask, written_at: datetime) -> str:
    return lasting(max((ask.observation.table.read_at - written_at).total_seconds(), 0))


def size(count: int) -> str:
    """`512 B`, `3.4 kB`, `1.2 GB`."""
    value = float(count)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:,.3g} GB"
