"""What a restore from one point would bring back, from metadata in hand; pure.

Where the source goes on after a restore, in words, and whether that fits the paired table state; pure.

How many rows a job would read and write again from a restore point, from bounds of files in hand; pure.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bot.domain.contract import TableContract
from bot.domain.evidence import Ask
from bot.domain.findings import OperatorState, Pairing, PairVerdict, RestoreReach
from bot.domain.flink import SourcePosition, StoredCheckpoint
from bot.domain.ids import SnapshotId, short
from bot.domain.looked import Seen
from bot.domain.pending_manifests import owed_to
from bot.domain.sentences import counted
from bot.domain.table import Snapshot, TableState
from bot.history.prediction import not_brought_again
from bot.history.ranking import Recovering
from bot.history.restore import Restores
from spark_tasks._data_files import DataFile
from spark_tasks._words import ids, shown

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
