"""Which table state a restore point belongs to: the rule on which every rewind stands.

A restore of checkpoint M is exactly-once only against a table whose newest commit of the run that wrote M
carries M itself, or against which M owes nothing (facts 0.1, 1.5).

What a restore point still owes to one table: the pending Flink manifests that lie in the table's own folders.

A job may write several tables (a dynamic sink, two sinks): its committers' state then lists the manifests of all.
"""

import re
from collections.abc import Iterable, Sequence

from bot.domain.findings import Pairing, PairVerdict
from bot.domain.flink import CheckpointKind, JobRun, StoredCheckpoint
from bot.domain.gone_commits import gone_between
from bot.domain.ids import CheckpointId, JobId, short, short_job
from bot.domain.looked import NotSeen, Seen
from bot.domain.run_commits import CommitsByRun, RunCommits
from bot.domain.table import Snapshot, TableState

MANIFESTS_LOCATION = "flink.manifests.location"
"""Table property: where the sink writes its temporary manifests, if not beside the table's metadata."""
_METADATA_LOCATION = "write.metadata.path"
_STORAGE = re.compile(r"^[a-z][a-z0-9+.-]*:(//[^/]*)?/*")
_OF_A_TABLE = "/metadata"
"""How the folder ends into which a sink writes where no table property says otherwise."""


def folder_of_manifests(table: TableState) -> str:
    """Where the sink puts its temporary manifests now, without a slash at the end."""
    return next(iter(_folders_by_properties(table)))


def owed_to(table: TableState, stored: StoredCheckpoint) -> tuple[str, ...]:
    """Names of the pending manifests that are this table's, or may be.

    Left out is only what lies beside the metadata of another table. A folder of any other kind may be one that a
    property of this table named before, and a name without folder (an older record) may lie anywhere.
    """
    return tuple(
        name
        for name in stored.pending_manifests
        if not _are_all_of_others(stored.manifest_folders.get(name, ()), table)
    )


def _are_all_of_others(folders: Iterable[str], table: TableState) -> bool:
    told = [_bare(folder) for folder in folders]
    return bool(told) and all(each.endswith(_OF_A_TABLE) and not _is_own(each, table) for each in told)


def _is_own(folder: str, table: TableState) -> bool:
    """By the properties, by where the metadata lies, or by where any listed commit wrote its own."""
    if folder in {_bare(each) for each in (*_folders_by_properties(table), _parent(table.metadata_location))}:
        return True
    return any(_bare(_parent(snapshot.manifest_list)) == folder for snapshot in table.snapshots)


def _folders_by_properties(table: TableState) -> tuple[str, ...]:
    named = (table.properties.get(name) for name in (MANIFESTS_LOCATION, _METADATA_LOCATION))
    default = f"{table.location.rstrip('/')}{_OF_A_TABLE}"
    return (*(each.rstrip("/") for each in named if each), default)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _bare(folder: str) -> str:
    """A folder's path without scheme and host: one storage goes by several names (`s3:` and `s3a:`, `file:` and
    none). Two tables at one path of two buckets are then taken for one: that owes too much, never too little."""
    return "/" + _STORAGE.sub("", folder).strip("/")


PENDING = re.compile(
    r"^(?P<job>[0-9a-f]{32})-(?P<operator>[0-9a-f]{32})-\d{5}-\d+-(?P<checkpoint>\d+)-\d{5}(?:-[0-9a-f-]{36})?\.avro$"
)
"""A Flink manifest's name: job id, operator id, subtask, attempt, checkpoint, count (facts 1.6)."""

_Judged = tuple[PairVerdict, Snapshot | None, str]


def pairings(
    stored: Iterable[StoredCheckpoint], table: TableState, jobs: Seen[JobRun] | NotSeen
) -> tuple[Pairing, ...]:
    """Every restore point with its verdict, newest first."""
    return tuple(pair for _, pair in judged(stored, table, jobs))


def judged(
    stored: Iterable[StoredCheckpoint], table: TableState, jobs: Seen[JobRun] | NotSeen
) -> tuple[tuple[StoredCheckpoint, Pairing], ...]:
    """(restore point, what a restore from it would meet), newest first; reads the table's snapshots once."""
    newest_first = sorted(stored, key=lambda s: (s.written_at, s.checkpoint_id or 0), reverse=True)
    commits = CommitsByRun(table)
    return tuple((each, _told(each, table, commits, jobs)) for each in newest_first)


def pairing(stored: StoredCheckpoint, table: TableState, jobs: Seen[JobRun] | NotSeen) -> Pairing:
    """What a restore from `stored` would meet. `jobs` decides only whether the point is going to stay. Of several
    points ask `judged`, which reads the snapshots once."""
    return _told(stored, table, CommitsByRun(table), jobs)


def _told(stored: StoredCheckpoint, table: TableState, by_run: CommitsByRun, jobs: Seen[JobRun] | NotSeen) -> Pairing:
    verdict, snapshot, reason = _judge(stored, table, by_run, jobs)
    return Pairing(
        path=stored.path,
        checkpoint_kind=stored.kind,
        checkpoint_id=stored.checkpoint_id,
        job_id=stored.job_id,
        verdict=verdict,
        snapshot_id=snapshot.snapshot_id if snapshot else None,
        reason=reason,
        digest=stored.digest,
        is_durable=stays(stored.kind, stored.job_id, jobs),
    )


def _judge(stored: StoredCheckpoint, table: TableState, by_run: CommitsByRun, jobs: Seen[JobRun] | NotSeen) -> _Judged:
    if stored.is_drained:
        return (
            PairVerdict.BEHIND,
            None,
            "It was taken with drain: true: the job had told its operators that its input was at its end, so windows "
            "and timers have fired. Iceberg's V1 sink, started from it, never commits again (F5); V2 would go on.",
        )
    if stored.problem is not None or stored.checkpoint_id is None:
        return PairVerdict.UNREADABLE, None, stored.problem or "Its _metadata names no checkpoint."
    if stored.job_id is None:
        return PairVerdict.UNPAIRABLE, None, "Neither its state nor its folder says which run wrote it."
    commits = by_run.of(stored)
    if not commits:
        owes = owed_checkpoints(stored, table)
        more = f"; its committer still owes {_listed(owes)}" if owes else ""
        return PairVerdict.UNPAIRABLE, None, f"No listed snapshot was written by run {short_job(stored.job_id)}{more}."
    of_start = commits.life_of(stored)
    if of_start is None:
        return PairVerdict.UNPAIRABLE, None, _untold(stored)
    exact = of_start.carrying(stored.checkpoint_id)
    return _paired(exact, table) if exact else _unmatched(stored, stored.checkpoint_id, of_start, table, jobs)


def _untold(stored: StoredCheckpoint) -> str:
    return (
        f"Run {short_job(stored.job_id)} has counted its checkpoints from the beginning again, and this file is from "
        f"none of the times at which it was at checkpoint {stored.checkpoint_id}: nothing tells of which start it is, "
        "as of a copy that was made later."
    )


def _paired(exact: Sequence[Snapshot], table: TableState) -> _Judged:
    """The oldest on main (a second copy is a repeated commit, F1), else the newest that was rolled back.

    Where two sinks of the run committed this checkpoint, the table is whole only after the later of them.
    """
    on_main = [s for s in exact if s.snapshot_id in table.chain_ids]
    firsts = {s.operator_id: s for s in reversed(on_main)}
    chosen = _last(list(firsts.values()), table) if on_main else exact[-1]
    where = "is on main" if on_main else "was rolled back and is still listed"
    twice = ""
    if len(on_main) > len(firsts):
        twice = f"; {len(on_main)} commits on main carry this checkpoint, this is the first"
    elif len(firsts) > 1:
        twice = f"; it is the last of {len(firsts)}, one for each sink of the run"
    says = f"Snapshot {short(chosen.snapshot_id)} carries exactly checkpoint {chosen.checkpoint_id} and {where}{twice}."
    return PairVerdict.PAIRED, chosen, says


def _last(commits: Sequence[Snapshot], table: TableState) -> Snapshot:
    """The youngest; of one, no other snapshot is looked at."""
    return commits[0] if len(commits) == 1 else max(commits, key=lambda s: table.place_of(s.snapshot_id))


def _unmatched(
    stored: StoredCheckpoint,
    checkpoint: CheckpointId,
    commits: RunCommits,
    table: TableState,
    jobs: Seen[JobRun] | NotSeen,
) -> _Judged:
    below, above = commits.below(checkpoint), commits.above(checkpoint)
    if commits.is_drained and above is None:
        return (
            PairVerdict.BEHIND,
            None,
            f"Run {short_job(stored.job_id)} was drained: its last commit carries Long.MAX_VALUE, and a job restored "
            "from here would never commit again (F5).",
        )
    owed = owed_checkpoints(stored, table)
    owes_nothing = owed == () and stored.is_committer_read
    if above is not None and (below is None or not owes_nothing):
        return PairVerdict.BEHIND, None, _behind(stored, checkpoint, above)
    assert below is not None  # there are commits, and none carries this id, a higher one, or Long.MAX_VALUE
    _, chosen, _ = _paired(commits.carrying(below), table)
    assert chosen is not None
    gone = gone_between(chosen, min(owed) if owed else checkpoint, table, jobs)
    if gone is not None:
        return PairVerdict.UNPAIRABLE, None, gone
    if not owes_nothing:
        return PairVerdict.AHEAD, None, _ahead(stored, table, checkpoint, below)
    where = "is on main" if chosen.snapshot_id in table.chain_ids else "was rolled back and is still listed"
    return (
        PairVerdict.PAIRED,
        chosen,
        f"Checkpoint {checkpoint} carried no files; snapshot {short(chosen.snapshot_id)} of checkpoint "
        f"{below}, which {where}, is the table state that it belongs to.",
    )


def _ahead(stored: StoredCheckpoint, table: TableState, checkpoint: CheckpointId, reached: int) -> str:
    run = f"Run {short_job(stored.job_id)} has committed up to checkpoint {reached}"
    if owed_checkpoints(stored, table):
        return (
            f"{run}; what checkpoint {checkpoint} holds has not reached any listed snapshot. A job restored from here "
            "commits it first, if its Flink manifests are still on storage."
        )
    said = "" if stored.is_committer_read else ", and its committer's state could not be read"
    return f"{run}; what checkpoint {checkpoint} holds has not reached any listed snapshot{said}."


def _behind(stored: StoredCheckpoint, checkpoint: CheckpointId, later: int) -> str:
    merged = f"no listed snapshot carries checkpoint {checkpoint}; the run went on to commit checkpoint {later}"
    if stored.kind is CheckpointKind.SAVEPOINT:
        return f"An intermediate savepoint does not commit: {merged}, which took its files along."
    return f"{merged[0].upper()}{merged[1:]}, so its own commit was merged or has been expired."


def owed_checkpoints(stored: StoredCheckpoint, table: TableState) -> tuple[int, ...] | None:
    """Checkpoints whose files for this table the committer's state still lists; None if a name cannot be understood."""
    found = [PENDING.match(name.rsplit("/", 1)[-1]) for name in owed_to(table, stored)]
    return tuple(sorted({int(m["checkpoint"]) for m in found if m})) if all(found) else None


def _listed(checkpoints: Sequence[int]) -> str:
    first, last = checkpoints[0], checkpoints[-1]
    return f"checkpoint {first}" if first == last else f"checkpoints {first} to {last}"


def stays(kind: CheckpointKind, job_id: JobId | None, jobs: Seen[JobRun] | NotSeen) -> bool:
    """Savepoints stay until a person deletes them; retained checkpoints stay once their run has ended."""
    if kind in {CheckpointKind.SAVEPOINT, CheckpointKind.STOP_SAVEPOINT}:
        return True
    if isinstance(jobs, NotSeen) or job_id is None:
        return False
    run = next((run for run in jobs.values if run.job_id == job_id), None)
    return run is None or run.is_terminal
