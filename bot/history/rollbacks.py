"""Rollbacks of main, told by the snapshot log; and commits that may have gone with one.

A run may have made commits between its newest listed one and a later checkpoint that are listed no more: main was
rolled back, and what it lost has expired, or the catalog was set back to an older metadata file. Pure.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Set
from itertools import dropwhile, pairwise

from bot.history.checkpoint_pace import PROPERTY, empty_commits_allowed, uncounted
from bot.observation.flink import JobRun
from bot.observation.ids import CheckpointId, JobId, OperatorId, SnapshotId, short, short_job
from bot.observation.ledger import Sink
from bot.observation.looked import NotSeen, Seen
from bot.observation.record import Record, Utc
from bot.observation.sentences import clock_time, counted
from bot.observation.table import HeadMove, Snapshot, TableState, Window


class Rollback(Record):
    """Commits that were head of main once, and the ancestor of its head that main went to from them."""

    fork: SnapshotId | None
    """The newest snapshot that both share; None when it is no longer listed."""
    target: SnapshotId | None
    """The newest commit of main that was made before them. Above `fork` where main had been set back to that for a
    while and was set forward again, to commits that these do not stand on. None when none is listed."""
    left: tuple[SnapshotId, ...]
    """The commits that main lost there, oldest first."""
    runs: tuple[JobId, ...]
    """The Flink runs that wrote them."""
    at: Utc | None
    """When main went back from them last, by its log; None where that does not tell."""

    def is_within(self, window: Window, table: TableState) -> bool:
        """Whether main lost these commits at or above the window's lower edge."""
        if window.since is None or self.target is None:
            return True
        since = window.on_main(table).since
        return self.target not in {s.snapshot_id for s in table.ancestors(since)} - {since}


def rollbacks(table: TableState) -> tuple[Rollback, ...]:
    """Every rollback that metadata still shows, one a target and fork, by rising target. Staged commits never were head
    of main and do not count."""
    by_ends: dict[tuple[SnapshotId | None, SnapshotId | None], list[Snapshot]] = {}
    for lost in sorted(table.rolled_back, key=lambda s: table.place_of(s.snapshot_id)):
        by_ends.setdefault((_target(table, lost), _fork(table, lost)), []).append(lost)
    rising = sorted(by_ends, key=lambda ends: [table.place_of(end) for end in ends])
    return tuple(
        Rollback(
            fork=fork,
            target=target,
            left=tuple(s.snapshot_id for s in by_ends[target, fork]),
            runs=tuple(dict.fromkeys(s.job_id for s in by_ends[target, fork] if s.job_id)),
            at=_went_back_at(table, {s.snapshot_id for s in by_ends[target, fork]}),
        )
        for target, fork in rising
    )


def _fork(table: TableState, lost: Snapshot) -> SnapshotId | None:
    return next((s.snapshot_id for s in table.ancestors(lost.snapshot_id) if s.snapshot_id in table.chain_ids), None)


def _target(table: TableState, lost: Snapshot) -> SnapshotId | None:
    place = table.place_of(lost.snapshot_id)
    older = bisect_left(table.chain, -place, key=lambda s: -table.place_of(s.snapshot_id))
    return table.chain[older].snapshot_id if older < len(table.chain) else None


def _went_back_at(table: TableState, left: Set[SnapshotId]) -> Utc | None:
    moves = pairwise(table.head_moves)
    gone = [move.at for before, move in moves if before.snapshot_id in left and move.snapshot_id not in left]
    return gone[-1] if gone else None


_BY_VERTEX = (
    ("icebergfilescommitter", Sink.FLINK_V1),
    ("sink pre-commit aggregator", Sink.FLINK_V2),
    ("icebergwriteaggregator", Sink.FLINK_V2),
    (" pre commit", Sink.FLINK_DYNAMIC),
)
"""A part of an operator's name -> the sink that names it so. A chain's name holds those of all its operators."""
_CDC = ("flink.batch-index", "flink.checkpoint-id")


class Sinks:
    """Tells sinks by what Flink says of its runs; what no run tells is not guessed."""

    def __init__(self, runs: Iterable[JobRun]) -> None:
        """`runs`: all that Flink remembers, ended ones too."""
        listed = tuple(runs)
        self._by_run: Mapping[JobId, Sink] = {
            run.job_id: found for run in listed if (found := _of_graph(run)) is not None
        }
        self._by_operator: Mapping[OperatorId, Sink] = {
            vertex.vertex_id: found
            for run in listed
            for vertex in run.vertices
            if (found := _of_name(vertex.name)) is not None
        }

    def of(self, commit: Snapshot) -> Sink:
        """Any engine's `replace` is a compaction. A Flink commit is told by the operator that made it, of whichever
        run Flink remembers (an operator keeps its id from run to run), else by the only sink of its run's graph."""
        if commit.operation == "replace":
            return Sink.COMPACTION
        if commit.job_id is not None:
            return self.of_run(commit.job_id, commit.operator_id)
        if any(key in commit.summary for key in _CDC):
            return Sink.FLINK_CDC
        if any(key.startswith("kafka.connect.") for key in commit.summary):
            return Sink.KAFKA_CONNECT
        engine = commit.engine.lower()
        return Sink.SPARK if engine == "spark" else Sink.FLINK_UNKNOWN if engine == "flink" else Sink.OTHER

    def of_run(self, job_id: JobId, operator_id: OperatorId | None = None) -> Sink:
        """The sink of a run; FLINK_UNKNOWN when neither the operator nor the graph is known."""
        by_operator = self._by_operator.get(operator_id) if operator_id is not None else None
        return by_operator or self._by_run.get(job_id, Sink.FLINK_UNKNOWN)


def _of_graph(run: JobRun) -> Sink | None:
    """None where Flink lists no sink of Iceberg, or several kinds."""
    found = {sink for vertex in run.vertices if (sink := _of_name(vertex.name)) is not None}
    return found.pop() if len(found) == 1 else None


def _of_name(name: str) -> Sink | None:
    lowered = name.lower()
    return next((sink for part, sink in _BY_VERTEX if part in lowered), None)


def gone_since(commit: Snapshot, table: TableState) -> int:
    """So many snapshots were made after `commit`, on whatever branch, and are listed no more; 0 also where nothing
    tells: each takes the next sequence number, but for format v1, and the metadata keeps the last. 0 where main's log
    shows that none of them was main's."""
    if table.last_sequence_number is None or not commit.sequence_number or _only_went_forward(commit, table):
        return 0
    made = table.last_sequence_number - commit.sequence_number
    return made - (len(table.snapshots) - 1 - table.place_of(commit.snapshot_id)) if made > 0 else 0


def gone_before(commit: Snapshot, table: TableState) -> int:
    """So many snapshots were made before `commit`, on whatever branch, and are listed no more; 0 also where nothing
    tells: in format v1 none has a number, and those from before an upgrade keep 0."""
    made, older = commit.sequence_number - 1, table.place_of(commit.snapshot_id)
    if made <= 0 or not older:
        return max(made, 0)
    return made - sum(0 < each.sequence_number < commit.sequence_number for each in table.snapshots)


def way_back_since(commit: Snapshot, table: TableState) -> HeadMove | None:
    """The newest move by which main, after it was at `commit`, came back to a commit while nothing of what it left is
    listed any more; how many commits it lost is not known. None: no such move, or sequence numbers tell (`gone_since`).

    Expiry takes what main lost out of the log, and Iceberg's Java all before it too; the way back stays there.
    """
    if table.last_sequence_number is not None and commit.sequence_number:
        return None
    moves = list(table.head_moves)
    first = next((place for place, move in enumerate(moves) if move.snapshot_id == commit.snapshot_id), 0)
    came = zip([None, *moves][first:], moves[first:], strict=False)
    back = [move for before, move in came if _is_way_back(before, move, table)]
    return back[-1] if back else None


def _is_way_back(before: HeadMove | None, move: HeadMove, table: TableState) -> bool:
    """Whether main came to a listed commit later than by that commit itself, and not from one that is listed: from its
    ancestor it went forward, as a branch is published; what else it left is still there to be seen."""
    there = table.by_id.get(move.snapshot_id)
    if there is None or move.at == there.committed_at:
        return False
    left = before.snapshot_id if before is not None else None
    return left is None or left == there.snapshot_id or (left not in table.by_id and left != there.parent_id)


def _only_went_forward(commit: Snapshot, table: TableState) -> bool:
    """Whether main came to `commit` and to all since by these commits themselves: expiry takes what main lost out of
    its log, but the way back to where it went stays there, with a later time than that commit's."""
    since = list(dropwhile(lambda move: move.snapshot_id != commit.snapshot_id, table.head_moves))
    return bool(since) and all(
        move.snapshot_id in table.by_id and move.at == table.by_id[move.snapshot_id].committed_at for move in since
    )


def gone_between(reached: Snapshot, until: int, table: TableState, jobs: Seen[JobRun] | NotSeen) -> str | None:
    """What shows that the run of `reached` may have committed more before it came to checkpoint `until`; None: nothing.
    `reached`: its newest listed commit below that. Where no number is missing the distance counts all the same: a
    catalog that was set back to an older metadata file (F10) has its last sequence number set back with it."""
    if until <= (reached.checkpoint_id or 0) + 1:
        return None
    return (
        _numbers_missing(reached, until, table)
        or _came_back(reached, until, table)
        or _too_long(reached, until, table, jobs)
    )


def _numbers_missing(reached: Snapshot, until: int, table: TableState) -> str | None:
    """Ordinary expiry takes older ones first. Whose those were, nothing tells."""
    gone = gone_since(reached, table)
    if gone <= 0:
        return None
    return (
        f"{_listed_up_to(reached)}, and {counted(gone, 'newer snapshot')} of the table {'is' if gone == 1 else 'are'} "
        f"listed no more, by the sequence numbers: commits of checkpoints below {until} may have been lost and expired."
    )


def _came_back(reached: Snapshot, until: int, table: TableState) -> str | None:
    back = way_back_since(reached, table)
    if back is None:
        return None
    return (
        f"{_listed_up_to(reached)}, and by its log main came back to {short(back.snapshot_id)} "
        f"({clock_time(back.at, table.read_at)}), with nothing of what it left still listed: commits of checkpoints "
        f"below {until} may have been lost and expired; how many, no sequence number tells."
    )


def _too_long(reached: Snapshot, until: int, table: TableState, jobs: Seen[JobRun] | NotSeen) -> str | None:
    """A sink commits now and then also without files, but for DynamicIcebergSink (facts 1.3). It counts anew from a
    restore on, of which Flink tells the newest and how many there were. The newest checkpoint may be on its way.

    Where sequence numbers show nothing missing, only a set-back catalog can have lost commits: then the distance
    speaks only of a run that Flink still tells, as all that explains silence is known from there alone."""
    since = reached.checkpoint_id or CheckpointId(0)
    of_run = [run for run in jobs.values if run.job_id == reached.job_id]
    allowed = empty_commits_allowed(table.properties)
    sink = Sinks(jobs.values).of_run(reached.job_id, reached.operator_id) if reached.job_id is not None else None
    is_numbered = table.last_sequence_number is not None and reached.sequence_number > 0
    if sink is Sink.FLINK_DYNAMIC or (is_numbered and not of_run):
        return None
    restored = sorted(run.restored.checkpoint_id for run in of_run if run.restored)
    passed_by = uncounted(of_run, sink)
    pieces = max((run.restored_count for run in of_run), default=1)
    bounds = (since, *(each for each in restored if since < each < until), until)
    for after, last in pairwise(bounds):
        starts = max(pieces, 1) if restored and last <= restored[-1] else 1
        unlisted = sum(_failed_unlisted(run, after, last) for run in of_run)
        passed = sum(after < each < last for each in passed_by)
        if last - after - passed > starts * (allowed + 1) + unlisted:
            return (
                f"{_listed_up_to(reached)}, and of checkpoints {after + 1} to {last} it would have committed one even "
                f"without files (`{PROPERTY}`: {allowed}): commits between may have been lost and expired, or gone as "
                "the catalog was set back."
            )
    return None


def _failed_unlisted(run: JobRun, after: int, last: int) -> int:
    """So many between these may have failed that Flink counts and lists no more: older than all that it lists."""
    hidden = run.failed_count - sum(c.status == "FAILED" for c in run.checkpoints)
    oldest = min((c.checkpoint_id for c in run.checkpoints), default=last)
    return max(min(hidden, min(oldest, last) - after - 1), 0)


def _listed_up_to(reached: Snapshot) -> str:
    return f"Commits of run {short_job(reached.job_id)} are listed up to checkpoint {reached.checkpoint_id}"
