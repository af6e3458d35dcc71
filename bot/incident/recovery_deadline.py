"""Until when a table can be recovered: the earliest moment at which something that a recovery needs may be gone. Pure.

A recovery needs the best restore point, the snapshot that pairs with it, the Kafka records from there on, the commits
that main lost in the window, and the Kafka records of the gaps that evidence found. Each has a limit of its own.

What goes by itself counts: Kafka's retention, and checkpoints that Flink drops while their run goes on. Iceberg deletes
nothing by itself. So the age of a snapshot counts where the table's properties set one, or its history shows that
somebody expires. Iceberg's default of five days and its removal of orphan files after three count only if somebody runs
them: such a limit is told, and does not move the deadline. While `gc.enabled` is `false` neither counts.

A limit is never later than the truth, as far as age decides. What may come earlier (the size of a topic, compaction) is
told with it, and what is not known is told as such: the deadline holds at the latest then.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from bot.history.case import Case
from bot.history.checkpoint_pace import interval_of
from bot.history.ranking import Recovering, recovering
from bot.history.source_records import SOURCE_UNKNOWN, SourceRecords
from bot.incident.contract_terms import kept_for, says_itself, stays_for
from bot.incident.diagnosis import Diagnosis, Remedy
from bot.observation.evidence import Ask, Observation
from bot.observation.findings import Limit, Pairing, PairVerdict, RecoveryDeadline
from bot.observation.flink import CheckpointKind, FlinkManifest, StoredCheckpoint, owed_to
from bot.observation.ids import SnapshotId, short, short_job
from bot.observation.looked import NotSeen
from bot.observation.sentences import clock_time, counted, full_stop, span
from bot.observation.table import Snapshot, TableState

ORPHAN_AGE = timedelta(days=3)
"""Iceberg's `remove_orphan_files` deletes what is older, unless somebody asks for less."""


SOON = timedelta(hours=4)
"""So little time is left that the card warns: a recovery waits for two people and a rewrite."""


_JITTER = timedelta(minutes=1)
"""By so much a limit that follows the pace of commits differs from look to look."""


_NAMED = 3


_OF_TABLE = "After that, table and job cannot go back to it together."


_OF_LOST = "After that, their rows come back only from the source."


_OF_POINT = "Copy its folder away, or take a savepoint."


_OF_OWED = "After that, a restore from this point fails."


def deadline_of(case: Case, diagnosis: Diagnosis) -> RecoveryDeadline | None:
    """As `recovery_deadline`; where the diagnosis asks for a rewind, by the restore points that it can go back to."""
    found = diagnosis.decisive
    is_rewind = found is not None and found[1].remedy is Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB
    return recovery_deadline(case, found[1].last_good if found is not None and is_rewind else None)


def recovery_deadline(
    seen: Case | Ask, last_good: SnapshotId | None = None, points: Sequence[Recovering] | None = None
) -> RecoveryDeadline | None:
    """None where nothing is there that a deadline could be told of: no restore point, no lost commit, no gap.

    Only restore points that pair with `last_good` or below count, where there are any; None: all.
    Of a case the gaps count that its evidence found. Of several limits the earliest counts; of several restore points
    the best (`points`, where they are ranked already).
    """
    world = seen.observation
    source = SourceRecords(seen)
    gaps = seen.gaps if isinstance(seen, Case) else None
    coming = [each for each in (points if points is not None else recovering(seen)) if each.may_bring_back]
    below = {s.snapshot_id for s in world.table.ancestors(last_good)} if last_good is not None else set()
    coming = [each for each in coming if each.pair.snapshot_id in below] or coming
    best = next((each for each in coming if each.brings_back), None)
    aside = {s.snapshot_id for s in world.table.rolled_back if s.adds_rows}
    lost_commits = [s.snapshot_id for s in seen.window.of(world.table) if s.snapshot_id in aside] if aside else []
    limits, unknown, lost = list[Limit](), list[str](), list[str]()
    if best is not None:
        stored, pair = best.stored, best.pair
        limits += [
            *source.limits(stored.source_positions),
            *_of_point(world, stored, pair, [each.stored for each in coming]),
            *_of_owed(world, stored, pair),
        ]
        limits += _of_snapshots(world.table, [pair.snapshot_id], "snapshot", _OF_TABLE)
        unknown += source.unknown(stored.source_positions)
        lost += best.lost
    elif isinstance(world.checkpoints, NotSeen):
        unknown.append(f"The restore points were not seen: {full_stop(world.checkpoints.reason)}")
    limits += _of_snapshots(world.table, lost_commits, "lost commit", _OF_LOST)
    for gap in gaps.gaps if gaps is not None else ():
        limits += source.limits_of_gap(gap)
        lost += source.lost_of_gap(gap)
    if best is None and not limits and not lost:
        return None
    return _earliest(world.table.read_at, best.stored.path if best else None, limits, unknown, lost)


def _earliest(
    now: datetime, point: str | None, limits: Iterable[Limit], unknown: Iterable[str], lost: Iterable[str]
) -> RecoveryDeadline:
    last_first = sorted(limits, key=lambda limit: limit.at, reverse=True)
    firsts = {(each.how, each.after): each for each in last_first}  # of each topic the partition that goes first
    in_order = sorted(firsts.values(), key=lambda limit: limit.at)
    first = next((limit for limit in in_order if not limit.is_conditional), None)
    return RecoveryDeadline(
        looked_at=now,
        recoverable_until=first.at if first is not None else None,
        because=first.what if first is not None else None,
        restore_point=point,
        limits=tuple(in_order),
        lost_for_good=tuple(dict.fromkeys(lost)),
        unknown=tuple(dict.fromkeys(unknown)),
    )


def is_soon(deadline: RecoveryDeadline, now: datetime) -> bool:
    until = deadline.recoverable_until
    return until is not None and until - now < SOON


def is_no_worse(told: RecoveryDeadline | None, known: RecoveryDeadline | None) -> bool:
    """Whether a later look tells nothing worse than what is known: nothing else is lost, the deadline is no earlier.
    Of a running job it moves on with each checkpoint; the one that is known is then never later than the truth."""
    if told is None or known is None:
        return told is None
    before, until = known.recoverable_until, told.recoverable_until
    is_earlier = until is not None and (before is None or before - until > _JITTER)
    return told.lost_for_good == known.lost_for_good and not is_earlier


def deadline_in_short(deadline: RecoveryDeadline, now: datetime) -> tuple[str, ...]:
    """What a card shows: what is lost, and the deadline with its reason. `now`: beside which times are read. Empty
    where nothing is known but that nobody knows how long the source keeps its records."""
    lost = [f"Lost for good: Kafka has deleted {each}." for each in deadline.lost_for_good[:_NAMED]]
    if len(deadline.lost_for_good) > _NAMED:
        lost.append(f"{len(deadline.lost_for_good) - _NAMED} more ranges are lost for good.")
    until, unknown = deadline.recoverable_until, deadline.unknown
    if until is None:
        is_told = unknown not in ((), (SOURCE_UNKNOWN,))
        return (*lost, *((f"Until when it is recoverable is not known. {unknown[0]}",) if is_told else ()))
    limit = next(each for each in deadline.limits if not each.is_conditional)
    if until <= now:
        said = f"Recover now: {limit.what} at any time."
    else:
        at_the_latest = " at the latest" if unknown else ""
        said = f"Recoverable until {clock_time(until, now)}{at_the_latest}: then {limit.what}."
    return (*lost, *(each for each in (said, limit.earlier, *unknown[:1]) if each))


def deadline_in_words(deadline: RecoveryDeadline, now: datetime) -> tuple[str, ...]:
    """All of it, a line each; what goes first comes first."""
    told = list(deadline_in_short(deadline, now))
    if deadline.recoverable_until is None and not deadline.lost_for_good:
        told[:1] = ["No deadline is known."]
    told += [each for each in deadline.unknown if not any(each in line for line in told)]
    for limit in deadline.limits:
        when = f"From {clock_time(limit.at, now)}" if limit.at > now else "From now"
        who = ", if somebody runs it" if limit.is_conditional else ""
        told.append(f"{when}{who}: {limit.what} ({limit.how}). {limit.after}")
    return tuple(told)


def _of_snapshots(table: TableState, ids: Sequence[SnapshotId | None], one: str, after: str) -> Iterator[Limit]:
    """Of those that go first only."""
    listed = [table.by_id[each] for each in ids if each is not None and each in table.by_id]
    stays = [(left, commit) for commit in listed if (left := _stays_for(table, commit)) is not None]
    if not stays or table.properties.get("gc.enabled", "true").lower() == "false":
        return
    left, first = min(stays, key=lambda each: each[0])
    is_known = says_itself(table) or any(s.has_commit_below for s in table.chain[-1:])
    who = "the table's properties" if says_itself(table) else "Iceberg's default"
    yield Limit(
        kind="snapshots",
        what=f"expiry may delete {one} {short(first.snapshot_id)}",
        at=table.read_at + left,
        how=f"{who}: snapshots stay for {span(kept_for(table))}",
        after=after,
        is_conditional=not is_known,
    )


def _stays_for(table: TableState, commit: Snapshot) -> timedelta | None:
    is_on_main = commit.snapshot_id in table.chain_ids
    places = (place for place, each in enumerate(table.chain) if each.snapshot_id == commit.snapshot_id)
    return stays_for(table, next(places) if is_on_main else None, commit)


def _of_point(
    world: Observation, stored: StoredCheckpoint, pair: Pairing, coming: Sequence[StoredCheckpoint]
) -> Iterator[Limit]:
    """Of a checkpoint of a run that goes on. Flink keeps as many as are there now, and drops the oldest. None is told
    where a newer one of the run, one of `coming`, is as good; nor of the newest, for the next one takes its place."""
    run = next((run for run in world.jobs.values if run.job_id == stored.job_id), None)
    if pair.is_durable or run is None:
        return
    own = [p for p in world.checkpoints.values if p.job_id == run.job_id and p.kind is CheckpointKind.CHECKPOINT]
    newer = sorted((p for p in own if (p.checkpoint_id or 0) > (stored.checkpoint_id or 0)), key=lambda p: p.written_at)
    if newer and not any(each.path in {point.path for point in newer} for each in coming):
        interval, left = interval_of(run) or timedelta(0), len(own) - len(newer)
        yield Limit(
            kind="checkpoints",
            what=f"Flink may drop checkpoint {stored.checkpoint_id}",
            at=max(newer[-1].written_at + left * interval, world.table.read_at),
            how=f"run {short_job(run.job_id)} goes on and keeps {counted(len(own), 'checkpoint')}",
            after=_OF_POINT,
        )
    if run.settings is not None and run.settings.survives_cancel is False:
        yield Limit(
            kind="checkpoints",
            what=f"Flink deletes checkpoint {stored.checkpoint_id} when run {short_job(run.job_id)} is cancelled",
            at=world.table.read_at,
            how="its checkpoints are not retained",
            after=_OF_POINT,
            is_conditional=True,
        )


def _of_owed(world: Observation, stored: StoredCheckpoint, pair: Pairing) -> Iterator[Limit]:
    """Files that only a state names are orphans to whoever cleans up. What a paired one owes its snapshot has."""
    owed = set(owed_to(world.table, stored)) if not _is_paired(pair) else set()
    if not owed or world.table.properties.get("gc.enabled", "true").lower() == "false":
        return
    there = [m.written_at for m in world.flink_manifests.values if _bare(m) in owed and m.written_at is not None]
    yield Limit(
        kind="files",
        what=f"removal of orphan files may delete what checkpoint {stored.checkpoint_id} has yet to commit",
        at=max(min([stored.written_at, *there]) + ORPHAN_AGE, world.table.read_at),
        how=f"by default it deletes files older than {span(ORPHAN_AGE)}",
        after=_OF_OWED,
        is_conditional=True,
    )


def _bare(manifest: FlinkManifest) -> str:
    return manifest.path.rsplit("/", 1)[-1]


def _is_paired(pair: Pairing) -> bool:
    return pair.verdict is PairVerdict.PAIRED
