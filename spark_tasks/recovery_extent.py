"""What would a restore bring back, and what not?

Where its source goes on, whether that fits the paired table state, and how many rows would be read again: from metadata
and bounds of files in hand.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from pyspark.sql import SparkSession

from bot.history.prediction import not_brought_again
from bot.history.ranking import Recovering, recovering
from bot.history.restore import Restores
from bot.history.unread_points import beside
from bot.incident.recovery_deadline import deadline_in_short, recovery_deadline
from bot.observation.contract import TableContract
from bot.observation.evidence import Answer, Ask, Measure, Task, Verdict
from bot.observation.findings import OperatorState, Pairing, PairVerdict, RecoveryExtentFinding, RestoreReach
from bot.observation.flink import SourcePosition, StoredCheckpoint, owed_to
from bot.observation.ids import SnapshotId, short
from bot.observation.looked import NotSeen, Seen
from bot.observation.sentences import counted
from bot.observation.table import Snapshot, TableState
from spark_tasks._support.data_files import DataFile, data_added, files_of
from spark_tasks._support.event_time import newest_with_rows
from spark_tasks._support.words import MAX_ROWS, cell, could_not, ids, lasting, shown

Brought = Mapping[SnapshotId, Sequence[DataFile]]
"""Commit -> the data files that it added, with the bounds of their source positions; commits without a look are not
in it."""


class RowsAgain(NamedTuple):
    """Rows above a restore point's table state."""

    rows: int
    is_exact: bool
    """False: so many at the most. Some may stand there twice, or below the position up to which the point has read."""


class _Above(NamedTuple):
    """One file's part above the position."""

    low: int
    high: int
    rows: int
    is_dense: bool
    """Whether the file carries each position between its bounds once, as far as a count tells."""
    is_whole: bool


def rows_again(above: Iterable[Snapshot], brought: Brought, position: int | None) -> RowsAgain:
    """Of the commits `above` those by Flink, and repairs that brought rows of Flink's, each source position above
    `position` once: a job that was restored from an older point has written rows anew that this one holds, or that
    another commit above it wrote.

    `position`: up to it the source was read; None: not known, or of several partitions. Then all their rows count.
    """
    flinks = (s for s in above if s.job_id is not None or s.written is not None)
    commits = [s for s in flinks if s.operation != "replace"]
    if position is None:
        rows = sum(s.counted("added-records") for s in commits)
        return RowsAgain(rows, is_exact=rows == 0)
    unbounded, parts = 0, list[_Above]()
    for commit in commits:
        files = brought.get(commit.snapshot_id)
        if files is None:
            unbounded += commit.counted("added-records")
            continue
        unbounded += sum(file.rows for file in files if file.low is None or file.high is None)
        parts += [part for file in files if (part := _above(file, position)) is not None]
    most, covered = sum(part.rows for part in parts), _covered(parts)
    is_apart = covered == sum(part.high - part.low + 1 for part in parts) and all(part.is_whole for part in parts)
    is_exact = unbounded == 0 and (is_apart or all(part.is_dense for part in parts))
    return RowsAgain(unbounded + min(most, covered), is_exact)


def _above(file: DataFile, position: int) -> _Above | None:
    if file.low is None or file.high is None or file.high <= position:
        return None
    low = max(file.low, position + 1)
    width = file.high - low + 1
    is_dense = file.rows == file.high - file.low + 1
    return _Above(low, file.high, min(file.rows, width), is_dense, is_whole=low == file.low)


def _covered(parts: Iterable[_Above]) -> int:
    """Positions in at least one of them."""
    count, reached = 0, None
    for low, high in sorted((part.low, part.high) for part in parts):
        begin = low if reached is None else max(low, reached + 1)
        count += max(high - begin + 1, 0)
        reached = high if reached is None else max(reached, high)
    return count


_NAMED = 4
_UNREAD = {-1: "the end of the topic", -2: "the beginning of the topic", -3: "the group's committed offset"}


def source_in_words(positions: Sequence[SourcePosition], contract: TableContract) -> str:
    """`orders/0 at 1,234, orders/1 at 1,201 and 10 more`; empty where nothing is known."""
    told = ", ".join(f"{name_of(each)} at {_offset(each.following, contract)}" for each in positions[:_NAMED])
    more = len(positions) - _NAMED
    return f"{told} and {more} more" if more > 0 else told


def name_of(position: SourcePosition) -> str:
    """`orders/0`: the topic and its partition."""
    return f"{position.topic}/{position.partition}"


def disagreements(ask: Ask, reach: RestoreReach) -> Iterable[str]:
    """Where the source's own offset and the highest position of the paired table state do not follow on each other.

    Told only of a source with one partition: the table's highest position is known of all partitions together. The
    contract's position column is taken for Kafka's offset, as it is meant to be.
    """
    if reach.verdict is not PairVerdict.PAIRED or reach.position_until is None or len(reach.source_positions) != 1:
        return
    source, column = reach.source_positions[0], ask.contract.position or ""
    highest = shown(column, reach.position_until, ask.contract)
    goes_on = f"Its source goes on at {_offset(source.following, ask.contract)} of {name_of(source)}"
    between = source.following - reach.position_until - 1
    if source.following < 0:
        return
    if between < 0:
        yield (
            f"{goes_on}, but its table state already holds position {highest}: what lies between would be written "
            "twice, unless another writer brought it."
        )
    if between > 0:
        yield (
            f"{goes_on}, and its table state ends with position {highest}: {counted(between, 'record')} between them "
            "made no row (filtered by the job, or lost)."
        )


def _offset(offset: int, contract: TableContract) -> str:
    return _UNREAD.get(offset, f"offset {shown(contract.position or '', f'{offset:,}', contract)}")


def reach_of_point(ask: Ask, point: Recovering, positions: Mapping[SnapshotId, int], brought: Brought) -> RestoreReach:
    """`positions`: the highest source position of each paired table state, as far as it is known."""
    stored, pair, table = point.stored, point.pair, ask.observation.table
    above = commits_above(table, pair.snapshot_id)
    position = positions.get(pair.snapshot_id) if pair.snapshot_id is not None else None
    again = rows_again(
        [s for s in above if s.snapshot_id not in pair.rewind_loses],
        brought,
        position if ask.contract.position_partition is None else None,
    )
    reach = RestoreReach(
        path=stored.path,
        checkpoint_id=stored.checkpoint_id,
        checkpoint_kind=stored.kind,
        verdict=pair.verdict,
        snapshot_id=pair.snapshot_id,
        operators=_operators(ask, stored),
        state_bytes=sum(stored.state_bytes.values()) if stored.state_bytes else None,
        pending_manifests=owed_to(table, stored),
        missing_manifests=point.missing,
        position_until=position,
        to_read_again=again.rows if pair.snapshot_id is not None else None,
        is_at_most=pair.snapshot_id is not None and not again.is_exact,
        cannot=(),
        source_positions=stored.source_positions,
        written_at=stored.written_at,
        is_durable=pair.is_durable,
        brings_back=point.brings_back,
        lost_for_good=point.lost,
    )
    return reach.model_copy(update={"cannot": _cannot(ask, stored, pair, reach, above)})


def commits_above(table: TableState, snapshot: SnapshotId | None) -> tuple[Snapshot, ...]:
    """Commits on main that the table state `snapshot` does not hold, newest first; none where there is no state."""
    if snapshot is None:
        return ()
    held = {s.snapshot_id for s in table.ancestors(snapshot)}
    return tuple(s for s in table.chain if s.snapshot_id not in held)


def _operators(ask: Ask, stored: StoredCheckpoint) -> tuple[OperatorState, ...]:
    """The largest state first. Names come from the file, else from the graph of the run that wrote it."""
    graph = {v.vertex_id: v.name for run in ask.observation.jobs.values if run.job_id == stored.job_id
             for v in run.vertices}  # fmt: skip
    found = [
        OperatorState(
            operator_id=operator,
            name=stored.operator_names.get(operator) or graph.get(operator),
            bytes=stored.state_bytes.get(operator),
        )
        for operator in stored.operator_ids
    ]
    return tuple(sorted(found, key=lambda each: each.bytes or 0, reverse=True))


def _cannot(
    ask: Ask, stored: StoredCheckpoint, pair: Pairing, reach: RestoreReach, above: tuple[Snapshot, ...]
) -> tuple[str, ...]:
    sentences = list(_does_not_fit(pair, reach))
    if reach.missing_manifests:
        sentences.append(_would_fail(pair, reach.missing_manifests))
    if pair.verdict is PairVerdict.PAIRED and not pair.is_durable:
        sentences.append("Flink drops this checkpoint when newer ones complete, so it may be gone when it is needed.")
    foreign = not_brought_again(Restores(ask), above, pair)
    if foreign:
        rows, gone = (sum(s.counted(key) for s in foreign) for key in ("added-records", "deleted-records"))
        named = ids([s.snapshot_id for s in foreign])
        sentences.append(
            f"The job does not make again what others committed above its snapshot: {named}, "
            f"{counted(rows, 'row')} added and {gone:,} deleted."
        )
    if undone := [s for s in foreign if s.is_repair and s.rows_taken_out]:
        sentences.append(
            "With main at its snapshot, what approved repairs had taken out would be there again: "
            f"{counted(sum(s.rows_taken_out for s in undone), 'row')} by "
            f"{ids([s.snapshot_id for s in undone])}."
        )
    sentences += disagreements(ask, reach)
    sentences += [f"Kafka has deleted records that it needs, for good: {each}." for each in reach.lost_for_good]
    if reach.to_read_again and not isinstance(ask.observation.kafka, Seen):
        where = ""
        if reach.source_positions:
            where = f" from {source_in_words(reach.source_positions, ask.contract)} on"
        elif reach.position_until is not None:
            where = f" above position {shown(ask.contract.position or '', reach.position_until, ask.contract)}"
        sentences.append(
            f"Records{where} come back only if the source still holds them; that cannot be seen from here."
        )
    if not stored.is_committer_read:
        sentences.append("What its committer still owes to the table is not known: that state could not be read.")
    if stored.not_understood is not None:
        sentences.append(stored.not_understood)
    return (*sentences, *_left_behind(ask, stored))


def _does_not_fit(pair: Pairing, reach: RestoreReach) -> Iterator[str]:
    if not reach.brings_back:
        yield f"Job and table do not come together from here: {pair.reason}"
    if pair.brings_again is not None:
        yield (
            f"Started on the table as it is, the job would bring rows of repair {short(pair.brings_again)} a "
            f"second time. Move main to {short(pair.snapshot_id)} before."
        )


def _would_fail(pair: Pairing, missing: tuple[str, ...]) -> str:
    gone = "1 Flink manifest is" if len(missing) == 1 else f"{len(missing)} Flink manifests are"
    first = f" Move main to {short(pair.snapshot_id)} before." if pair.snapshot_id is not None else ""
    return (
        f"Started against the table as it is now, the job would fail: {gone} gone that its committer would commit "
        f"first (F7).{first}"
    )


def _left_behind(ask: Ask, stored: StoredCheckpoint) -> tuple[str, ...]:
    """Manifests of its run at or below its checkpoint that it does not list: no restore commits them."""
    if stored.checkpoint_id is None or not stored.is_committer_read:
        return ()
    listed = set(stored.pending_manifests)
    behind = sorted(
        manifest.checkpoint_id
        for manifest in ask.observation.flink_manifests.values
        if manifest.job_id == stored.job_id
        and manifest.checkpoint_id <= stored.checkpoint_id
        and manifest.path.rsplit("/", 1)[-1] not in listed
    )
    if not behind:
        return ()
    which = f"checkpoint {behind[0]}" if behind[0] == behind[-1] else f"checkpoints {behind[0]} to {behind[-1]}"
    return (
        f"It does not list {counted(len(behind), 'Flink manifest')} of its run that still lie on storage ({which}): "
        "left over from a commit, or lost; ask for the leaked manifests.",
    )


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
