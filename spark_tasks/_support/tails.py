"""What may lie behind the last row of a source partition: nothing, what is still to be committed, or lost rows. A gap
shows only where a later row lives. The job's own state tells where it goes on in its source.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.observation.evidence import Ask
from bot.observation.findings import PositionGap
from bot.observation.flink import CLOCKS_DIFFER, SourcePosition, StoredCheckpoint
from bot.observation.ids import CheckpointId, short
from bot.observation.looked import NotSeen
from bot.observation.record import Record
from bot.observation.sentences import counted, few
from bot.observation.table import Snapshot
from spark_tasks._support.coverage import Partition, parts_by_commit, places_in, tops_of
from spark_tasks._support.event_time import brings_rows, newest_with_rows
from spark_tasks._support.manifest_entries import NO_BOUNDS, WHOLE, Bounds, Entry, asked_of, entries_by_commit
from spark_tasks._support.manifests import Manifest
from spark_tasks._support.manifests import newest_of as newest_manifests
from spark_tasks._support.places import added_places
from spark_tasks._support.positions import MOST_PARTITIONS, Edges
from spark_tasks._support.reading import names_at, renamed
from spark_tasks._support.window import Reach, line_of
from spark_tasks._support.words import shown


class SourceState(Record):
    """The restore point of the run that wrote the newest commit whose Kafka source tells where it goes on."""

    point: StoredCheckpoint
    commit: Snapshot

    @property
    def is_of_commit(self) -> bool:
        """Whether all that it has read is committed; else what it read after the commit may still come."""
        return self.point.checkpoint_id == self.commit.checkpoint_id

    def following(self, partition: str | None) -> int | None:
        """The next offset of a source partition; None also where several topics have a partition of this number, or
        nothing was read of it."""
        told: list[SourcePosition] = [each for each in self.point.source_positions if str(each.partition) == partition]
        return told[0].following if len(told) == 1 and told[0].following >= 0 else None


def source_state(ask: Ask) -> SourceState | None:
    """The oldest point that is not older than the newest commit: an older one says nothing of what came since, and a
    newer one has read more that is not committed."""
    world = ask.observation
    newest = next((s for s in world.table.ancestors(ask.window.until) if s.job_id is not None), None)
    if newest is None or newest.checkpoint_id is None:
        return None
    fit = [
        point
        for point in world.checkpoints.values
        if point.job_id == newest.job_id
        and point.checkpoint_id is not None
        and point.checkpoint_id >= newest.checkpoint_id
        and point.source_positions
    ]
    oldest = min(fit, key=lambda point: point.checkpoint_id or 0, default=None)
    return SourceState(point=oldest, commit=newest) if oldest is not None else None


BELOW = 20
"""Commits with rows below the window that are looked at: a partition that was silent through all of them had stopped
long before, and a look through the whole table would cost what the table costs."""
LOOKED = 20
"""So many of the newest commits with rows are looked at for who was silent in them."""
SEVERAL = 5
"""From so many commits on a silence counts, if it is also more than twice as long as any before it: a partition that is
quiet for one commit or two, or that always writes rarely, is none."""
_MOST_FILES = 10_000


@dataclass(frozen=True)
class Stopped:
    """A partition whose rows end before those of others, and nothing shows that none came after."""

    partition: str | None
    top: int
    quiet: int | None
    """The newest commits with rows in which it has none; None: all of the window."""
    read: int
    """Offsets beyond its last row that the job's state has read; 0: not known, or none."""


@dataclass(frozen=True)
class Tails:
    """Behind the last rows of all partitions that the window wrote."""

    missing: tuple[PositionGap, ...] = ()
    """Read by the job up to the very checkpoint that the newest commit carries, and in no live row."""
    waiting: int = 0
    """Positions that the job has read by a later checkpoint: they are not committed yet."""
    state_of: CheckpointId | None = None
    commit_of: CheckpointId | None = None
    stopped: tuple[Stopped, ...] = ()
    is_of_before: bool = False
    """Whether that checkpoint surely came before the commit that carries its id."""

    def beyond(self, width: int) -> "Tails":
        """Without what is missing in no more positions than this, where the commit has all that the checkpoint had
        read: these had no record, as those between its rows."""
        kept = tuple(gap for gap in self.missing if gap.size > width or not self.is_of_before)
        return replace(self, missing=kept)

    @property
    def size(self) -> int:
        return sum(gap.size for gap in self.missing)


NO_TAILS = Tails()


def tails_of(spark: SparkSession, ask: Ask, reach: Reach, edges: Edges, tops: Mapping[str | None, int]) -> Tails:
    """Compares each partition's highest live position with where the job's state goes on in it.

    Where the state is of the newest commit's checkpoint, what it has read beyond is missing, as long as it agrees with
    the table in one partition at least: else its offsets may not be the positions, and it is only said. Where it is of
    a later checkpoint, that is not committed yet. Where no offset is known, or what was read is not committed, a
    partition that is silent over the newest commits of Flink while others go on is not judged: from `SEVERAL` commits
    on, and more than twice as long as it ever was before, of the `LOOKED` newest (and their first 10,000 files).
    Without a source partition in the contract there are no others, and nothing is said. Cost: two columns of these
    commits.
    """
    if ask.contract.position_partition is None or not tops:
        return Tails()
    state = source_state(ask)
    following = {each: state.following(each) if state is not None else None for each in tops}
    beyond = {each: at - tops[each] - 1 for each, at in following.items() if at is not None}
    is_exact = state is not None and state.is_of_commit
    agrees = 0 in beyond.values()
    lost = {each: read for each, read in beyond.items() if read > 0 and is_exact}
    open_ones = [each for each in tops if each not in beyond or (beyond[each] > 0 and not is_exact)]
    quiet = _quiet(spark, ask, edges, open_ones) if _is_long(reach) else {}
    stopped = [Stopped(each, tops[each], many, max(0, beyond.get(each, 0))) for each, many in quiet.items()]
    if not agrees:
        stopped += [Stopped(each, tops[each], 0, read) for each, read in lost.items()]
    return Tails(
        missing=tuple(_gap(each, tops[each], read) for each, read in lost.items()) if agrees else (),
        waiting=sum(read for read in beyond.values() if read > 0) if not is_exact else 0,
        state_of=state.point.checkpoint_id if state is not None else None,
        commit_of=state.commit.checkpoint_id if state is not None else None,
        stopped=tuple(sorted(stopped, key=lambda each: each.partition or "")),
        is_of_before=state is not None and state.point.written_at <= state.commit.committed_at + CLOCKS_DIFFER,
    )


def waiting_in_words(tails: Tails) -> str:
    """A sentence that goes on after another; empty where nothing waits."""
    if not tails.waiting:
        return ""
    return (
        f" By the state of checkpoint {tails.state_of} the job has read {counted(tails.waiting, 'position')} more, not "
        f"committed yet: the newest commit is of checkpoint {tails.commit_of}."
    )


def silent_in(
    spark: SparkSession, ask: Ask, reach: Reach, wrote: Collection[Partition]
) -> tuple[tuple[Stopped, ...], tuple[NotSeen, ...]]:
    """(Partitions without a row in the window, which had some in the `BELOW` commits with rows below it; what could not
    be looked at). `wrote`: those with a row in the window. One of which the job's own state shows that nothing came
    after its last row is idle, and left out; without a named source partition there is none.

    Cost: two columns of these commits; of expired ones as `expired_tops`.
    """
    if ask.contract.position_partition is None:
        return (), ()
    table, unseen = ask.observation.table, list[NotSeen]()
    below = newest_with_rows(table, reach.since, BELOW) if reach.since is not None else ()
    highest: dict[Partition, int] = {}
    if below and reach.since is not None:
        brought = parts_by_commit(spark, table, ask.contract, below)
        if isinstance(brought, NotSeen):
            highest = _highest(added_places(spark, ask, below, below[0].parent_id, reach.since))
        else:
            highest = tops_of(part for parts in brought.values() for part in parts)
    oldest = line_of(table, reach.until)[-1]
    if len(below) < BELOW and oldest.has_commit_below:
        older = expired_tops(spark, ask, oldest, BELOW - len(below), wrote)
        if isinstance(older, NotSeen):
            unseen.append(older)
        else:
            highest |= {each: max(top, highest.get(each, top)) for each, top in older.items()}
    state = source_state(ask)
    following = {each: state.following(each) if state is not None else None for each in highest}
    silent = [
        Stopped(each, top, None, max(0, (following[each] or 0) - top - 1))
        for each, top in sorted(highest.items(), key=lambda each: each[0] or "")
        if each not in wrote and following[each] != top + 1
    ]
    return tuple(silent), tuple(unseen)


def _highest(places: DataFrame) -> dict[Partition, int]:
    told = places.where("position IS NOT NULL").groupBy("partition").agg(F.max("position").alias("highest"))
    return {row["partition"]: int(row["highest"]) for row in told.limit(MOST_PARTITIONS).collect()}


def ends_untold(ask: Ask, reach: Reach, stopped: Sequence[Stopped]) -> NotSeen:
    """What is said of partitions whose end is not judged, of which there is one at least: all of them were silent in
    the whole window, or none."""
    column, place = ask.contract.position_partition or "", ask.contract.position or ""
    named = few(
        [
            f"{shown(column, each.partition, ask.contract)} (last {shown(place, each.top, ask.contract)})"
            for each in stopped
        ]
    )
    several, has = ("s", " have") if len(stopped) > 1 else ("", " has")
    said = []
    quiet = [each.quiet for each in stopped if each.quiet is not None]
    if not quiet:
        said.append(f"{has} no row {_since(ask, reach)}, while others go on")
    elif fewest := min(quiet):
        said.append(f"{has} no row in the newest {fewest} commits with rows, while others go on")
    else:
        said.append(" may lack the last rows")
    if past := next((each for each in stopped if each.read), None):
        of = shown(column, past.partition, ask.contract)
        said.append(f" by its own state the job has read {past.read:,} offsets beyond the last row of partition {of}")
    return NotSeen(
        source=f"source partition{several} {named}",
        reason=f"Source partition{several} {named}{';'.join(said)}: idle, or its last rows are lost.",
        remedy="Ask the source whether it has records there; if it has, they are missing.",
    )


def _since(ask: Ask, reach: Reach) -> str:
    if reach.since is None:
        first = reach.main[0]
        return f"from {short(first.snapshot_id)} ({first.committed_at:{_CLOCK}}) on, the oldest commit that is listed"
    since = ask.observation.table.by_id[reach.since]
    return f"after {short(reach.since)} ({since.committed_at:{_CLOCK}}), where the window begins"


_CLOCK = "%Y-%m-%d %H:%M:%S UTC"


def _gap(partition: str | None, top: int, read: int) -> PositionGap:
    return PositionGap(first=top + 1, last=top + read, partition=partition)


def _is_long(reach: Reach) -> bool:
    """Whether the window has room for such a silence after a row of it."""
    return sum(brings_rows(commit) for commit in reach.main) > SEVERAL


def _quiet(spark: SparkSession, ask: Ask, edges: Edges, partitions: Sequence[str | None]) -> dict[str | None, int]:
    """Partition -> how many of the newest commits are without it, of those whose silence counts."""
    commits = newest_of(ask)
    if not commits or not partitions:
        return {}
    wrote = _wrote(spark, ask, commits)
    was_there = {edge.partition: edge.below is not None for edge in edges.each}
    found = {each: _silence(wrote.get(each, []), len(commits), was_there.get(each, False)) for each in partitions}
    return {each: many for each, many in found.items() if many}


def _silence(places: Sequence[int], commits: int, was_there: bool) -> int:
    """The commits at the end without it, if they count; else 0. `places`: where it wrote, of so many, rising.
    `was_there`: it wrote before them, so that what comes before its first place is a silence too."""
    if not places:
        return commits if commits >= SEVERAL else 0
    quiet = commits - 1 - places[-1]
    before = [later - one - 1 for one, later in pairwise(places)]
    before += [places[0]] if was_there else []
    return quiet if quiet >= SEVERAL and quiet > 2 * max(before, default=0) else 0


def newest_of(ask: Ask) -> list[Snapshot]:
    """The newest commits of Flink, or where it has none of anybody, that brought rows with these columns; oldest
    first."""
    table, wanted = ask.observation.table, {ask.contract.position_partition, ask.contract.position}
    is_flink = bool(table.of_flink)
    found: list[Snapshot] = []
    files = 0
    for commit in table.ancestors(ask.window.until):
        if not brings_rows(commit) or (is_flink and commit.job_id is None):
            continue
        files += commit.counted("added-data-files")
        if len(found) == LOOKED or files > _MOST_FILES or not wanted <= set(names_at(table, commit.snapshot_id)):
            break
        found.append(commit)
    return found[::-1]


def _wrote(spark: SparkSession, ask: Ask, commits: Sequence[Snapshot]) -> dict[str | None, list[int]]:
    """Partition -> the places of the commits that brought rows of it, rising. Reads."""
    brought = parts_by_commit(spark, ask.observation.table, ask.contract, commits, are_named_now=True)
    found: dict[str | None, list[int]] = {}
    for place, commit in enumerate(commits):
        for part in () if isinstance(brought, NotSeen) else brought.get(commit.snapshot_id, ()):
            if part.rows:
                found.setdefault(part.partition, []).append(place)
    return found


_MOST_MANIFESTS = 400
_NUMBER = re.compile(r"-?\d+")


def expired_tops(
    spark: SparkSession, ask: Ask, oldest: Snapshot, many: int, known: Collection[Partition]
) -> dict[Partition, int] | NotSeen:
    """Partition -> the highest position in data files that live at `oldest`, of the newest `many` commits below it,
    deleted rows too. Files that by their bounds hold no partition but those that are `known` are passed over. NotSeen
    where the files are too many, or a column had another name.

    Cost: one manifest list, the manifests that the newest `many` of its writers wrote, and two columns of files that
    may hold another partition: none where all partitions go on, as long as the column holds whole numbers.
    """
    table, contract = ask.observation.table, ask.contract
    assert contract.position is not None
    assert contract.position_partition is not None
    names = [contract.position_partition, contract.position]
    if other_names := renamed(table, names):
        return other_names[0]
    manifests = _newest(spark, oldest, many)
    if len(manifests) > _MOST_MANIFESTS:
        return _too_much(ask, oldest, many, f"more than {_MOST_MANIFESTS:,} manifests")
    files = _files(spark, ask, oldest, manifests, many, known)
    if len(files) > _MOST_FILES:
        return _too_much(ask, oldest, many, f"more than {_MOST_FILES:,} data files")
    if not files:
        return {}
    placed = places_in(spark, table, contract, files)
    places = placed.where("partition IS NOT NULL AND position IS NOT NULL")
    told = places.groupBy("partition").agg(F.max("position")).limit(MOST_PARTITIONS).collect()
    return {row[0]: int(row[1]) for row in told}


def _newest(spark: SparkSession, oldest: Snapshot, many: int) -> list[Manifest]:
    """Those of `oldest` itself, which may have merged older ones, and of so many who wrote before, the last first: of
    format v1, whose lists do not tell who was the last, all. At most one more than `_MOST_MANIFESTS`."""
    chosen: list[Manifest] = []
    writers: set[int] = set()
    for each in newest_manifests(spark, oldest, _MOST_MANIFESTS + 1, first=(oldest,)):
        if each.snapshot_id != oldest.snapshot_id:
            writers.add(each.snapshot_id)
        if len(writers) > many and each.sequence_number:
            break
        chosen.append(each)
    return chosen


def _files(
    spark: SparkSession,
    ask: Ask,
    oldest: Snapshot,
    manifests: Sequence[Manifest],
    many: int,
    known: Collection[Partition],
) -> list[Entry]:
    """Data files of the newest `many` commits below, that may hold another partition. What `oldest` itself brought is
    not of them, unless it rewrote older files."""
    asked = asked_of(ask.observation.table, ask.contract)
    is_whole = asked.source is not None and asked.source.type in WHOLE
    live = [
        entry
        for some in entries_by_commit(spark, manifests, asked)
        for entry in some
        if entry.status != 2 and entry.is_data
        if oldest.operation != "append" or entry.snapshot_id != oldest.snapshot_id
    ]
    newest = set(sorted({entry.age for entry in live}, reverse=True)[:many])
    numbers = [int(each) for each in known if each is not None and _NUMBER.fullmatch(each)]
    return [
        each
        for each in live
        if each.age in newest and _may_hold_another(each.source if is_whole else NO_BOUNDS, numbers)
    ]


def _may_hold_another(bounds: Bounds, known: Sequence[int]) -> bool:
    """Between the bounds of the others all are known."""
    if bounds.low is None or bounds.high is None:
        return True
    return sum(bounds.low <= each <= bounds.high for each in known) < bounds.high - bounds.low + 1


def _too_much(ask: Ask, oldest: Snapshot, many: int, found: str) -> NotSeen:
    return NotSeen(
        source=f"what lay below snapshot {oldest.snapshot_id} of {ask.observation.table.name}",
        reason="The commits below it have expired, and which source partitions the newest of them wrote is not known: "
        f"{found} would show that.",
        remedy=f"Ask again with a window that begins {many} commits later, or ask the source whether each of its "
        "partitions goes on.",
    )
