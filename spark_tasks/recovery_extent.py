"""What would a restore bring back, and what not? Told by metadata and bounds of files."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from datetime import datetime

from pyspark.sql import SparkSession

from bot.history.prediction import not_brought_again
from bot.history.ranking import Recovering, recovering
from bot.history.restore import Restores
from bot.history.unread_points import beside
from bot.incident.recovery_deadline import deadline_in_short, recovery_deadline
from bot.observation.contract import TableContract
from bot.observation.evidence import Answer, Ask, Measure, Task, Verdict
from bot.observation.findings import Pairing, PairVerdict, RecoveryExtentFinding, RestoreReach
from bot.observation.flink import SourcePosition, StoredCheckpoint, owed_to
from bot.observation.ids import SnapshotId, short
from bot.observation.looked import NotSeen, Seen
from bot.observation.sentences import counted, few
from bot.observation.table import Snapshot, TableState
from spark_tasks._support.data_files import data_added, files_of
from spark_tasks._support.event_time import newest_with_rows
from spark_tasks._support.manifest_entries import asked_of
from spark_tasks._support.words import MAX_ROWS, Inconclusive, answers, cell, ids, lasting, shown


def rows_again(above: Iterable[Snapshot]) -> int:
    """So many rows at the most: of the commits `above` those by Flink, and repairs that brought rows of Flink's. Some
    may stand there twice, or below the position up to which the point has read."""
    flinks = (s for s in above if s.job_id is not None or s.written is not None)
    return sum(s.counted("added-records") for s in flinks if s.operation != "replace")


_UNREAD = {-1: "the end of the topic", -2: "the beginning of the topic", -3: "the group's committed offset"}


def source_in_words(positions: Sequence[SourcePosition], contract: TableContract) -> str:
    """`orders/0 at 1,234, orders/1 at 1,201 and 10 more`; empty where nothing is known."""
    return few([f"{name_of(each)} at {_offset(each.following, contract)}" for each in positions])


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


def reach_of_point(ask: Ask, point: Recovering, positions: Mapping[SnapshotId | None, int]) -> RestoreReach:
    """`positions`: the highest source position of each paired table state, as far as it is known."""
    stored, pair, table = point.stored, point.pair, ask.observation.table
    above = commits_above(table, pair.snapshot_id)
    again = rows_again(s for s in above if s.snapshot_id not in pair.rewind_loses)
    reach = RestoreReach(
        path=stored.path,
        checkpoint_id=stored.checkpoint_id,
        checkpoint_kind=stored.kind,
        verdict=pair.verdict,
        snapshot_id=pair.snapshot_id,
        state_bytes=sum(stored.state_bytes.values()) if stored.state_bytes else None,
        pending_manifests=owed_to(table, stored),
        missing_manifests=point.missing,
        position_until=positions.get(pair.snapshot_id),
        to_read_again=again if pair.snapshot_id is not None else None,
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
_COLUMNS = (
    "restore point", "checkpoint", "verdict", "snapshot", "state", "owes", "position", "source goes on",
    "rows again", "cannot bring back",
)  # fmt: skip


@answers(TASK)
def answer(spark: SparkSession, ask: Ask) -> Answer:
    """Every restore point that can be read, the best first: those that bring job and table back, the newest first.

    Rows to read again are at most those that Flink committed on main above the paired snapshot.
    State files beside `_metadata` are taken from its word and not opened, but for the committer's and those of Kafka
    sources, whose next offsets are told. `ruled-out` only when every point could be read and what it owes is known.
    """
    world = ask.observation
    if isinstance(world.checkpoints, NotSeen):
        raise Inconclusive(world.checkpoints)
    known = recovering(ask)
    readable = [each for each in known if each.pair.verdict is not PairVerdict.UNREADABLE]
    positions = _positions(spark, ask, {each.pair.snapshot_id for each in readable} - {None})
    points = [reach_of_point(ask, each, positions) for each in readable[:MAX_POINTS]]
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


def _positions(spark: SparkSession, ask: Ask, states: Set[SnapshotId | None]) -> dict[SnapshotId | None, int]:
    """Paired snapshot -> highest source position of its table state, without those for which no file tells.

    Looked for in the window's commits and in the newest three with rows: a state's highest position is among its
    newest commits, unless a job has read older records again since before the window.
    """
    table = ask.observation.table
    if asked_of(table, ask.contract).position is None or not states:
        return {}
    inside = {s.snapshot_id: s for s in ask.window.of(table)}
    held: dict[SnapshotId | None, dict[SnapshotId, Snapshot]] = {}
    for state in states:
        near = [s for s in table.ancestors(state) if s.snapshot_id in inside]
        held[state] = {s.snapshot_id: s for s in (*near, *newest_with_rows(table, state, _BELOW))}
    commits = inside | {of: commit for own in held.values() for of, commit in own.items()}
    highest: dict[int, int] = {}
    for file in data_added(files_of(spark, table, ask.contract, list(commits.values()))):
        if (top := file.position.high) is not None:
            highest[file.snapshot_id] = max(top, highest.get(file.snapshot_id, top))
    tops = {state: [highest[of] for of in own if of in highest] for state, own in held.items()}
    return {state: max(found) for state, found in tops.items() if found}


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
        again += f"; at most {counted(best.to_read_again, 'row')}{above} would be read and written again"
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
        f"at most {point.to_read_again}" if point.to_read_again else cell(point.to_read_again),
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
