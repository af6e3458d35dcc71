"""Terms of state, checkpoints and table that one look decides: what the contract promises and recovery relies on.

A figure that the contract does not name is no term. `holds` None: it could not be told.

Columns are compared with what the contract promises, with what they were, and with what a job writes. What a contract
lacks is offered as YAML of the Open Data Contract Standard to paste, each line with why. No promise is loosened because
it broke: only what table or configuration say, and the contract does not.

How long a table's own rules keep a commit of main from expiry follows Iceberg's spec, "Snapshot Retention Policy",
which `RemoveSnapshots` obeys. A procedure may be called with other ages.
"""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import timedelta
from itertools import pairwise
from statistics import median
from urllib.parse import urlsplit

from bot.history.checkpoint_pace import empty_commits_allowed
from bot.history.other_jobs import own_points
from bot.observation.contract import ContractColumn, TableContract
from bot.observation.evidence import Observation
from bot.observation.findings import Contract, SchemaDifference, Term
from bot.observation.flink import CheckpointKind, JobRun
from bot.observation.ids import SnapshotId, short, short_job
from bot.observation.looked import NotSeen
from bot.observation.sentences import clock_time, span
from bot.observation.table import Column, Ref, Snapshot, TableState
from bot.observation.written import WrittenSchema

ABSENT = "no such column"


PARTITIONING = "(partitioning)"


def contract_differences(columns: Sequence[Column], contract: TableContract) -> tuple[SchemaDifference, ...]:
    """Promised columns that the table lacks or has in another type. A column beyond the contract breaks no promise."""
    by_name = {column.name: column for column in columns}
    return tuple(
        SchemaDifference(
            column=promised.name,
            between=("contract", "table"),
            expected=promised.type or "any type",
            found=ABSENT if (there := by_name.get(promised.name)) is None else there.type,
        )
        for promised in contract.columns
        if not _keeps(promised, by_name.get(promised.name))
    )


def changes_between(earlier: Sequence[Column], now: Sequence[Column]) -> tuple[SchemaDifference, ...]:
    """Columns that were added, dropped, renamed or got another type; a column is known by its field id."""
    before, after = ({column.field_id: column for column in columns} for columns in (earlier, now))
    found = []
    for field_id in sorted(before.keys() | after.keys()):
        old, new = before.get(field_id), after.get(field_id)
        expected, seen = _in_words(old, new), _in_words(new, old)
        if expected != seen:
            name = (new or old or now[0]).name
            found.append(
                SchemaDifference(column=name, between=("earlier-table", "table"), expected=expected, found=seen)
            )
    return tuple(found)


def state_differences(written: WrittenSchema, table: TableState) -> tuple[SchemaDifference, ...]:
    """What the job writes if it goes on as its state has it, against the table as it is now: columns that only one of
    them has, with another id (dropped and added again), name, type or need of a value; and the partition spec."""
    before, after = ({column.field_id: column for column in columns} for columns in (written.columns, table.columns))
    again = {c.name for c in written.columns if c.field_id not in after} & {
        c.name for c in table.columns if c.field_id not in before
    }
    found = []
    for field_id in sorted(before.keys() | after.keys()):
        old, new = before.get(field_id), after.get(field_id)
        name = (new or old or table.columns[0]).name
        if name in again:
            if old is not None:
                now = next(c for c in table.columns if c.name == name)
                found.append(_of_state(name, _with_id(old), _with_id(now)))
        elif (expected := _with_need(old, new)) != (seen := _with_need(new, old)):
            found.append(_of_state(name, expected, seen))
    return (*found, *_spec_differences(written, table))


def lacking_in(written: WrittenSchema, table: TableState) -> tuple[str, ...]:
    """Columns of the table that the writer does not know."""
    known = {column.field_id for column in written.columns}
    return tuple(column.name for column in table.columns if column.field_id not in known)


def dropped_since(written: WrittenSchema, table: TableState) -> tuple[str, ...]:
    """Columns that the writer knows and the table no longer has, nor another one of their name."""
    ids, names = ({getattr(column, told) for column in table.columns} for told in ("field_id", "name"))
    return tuple(c.name for c in written.columns if c.field_id not in ids and c.name not in names)


def in_words(spec: Sequence[str]) -> str:
    """Fields of a partition spec as one text."""
    return ", ".join(spec) or "unpartitioned"


def _spec_differences(written: WrittenSchema, table: TableState) -> tuple[SchemaDifference, ...]:
    if written.spec_id is None:
        return ()
    here = table.specs.get(written.spec_id)
    fields = written.partitioning if written.partitioning is not None else here
    if here is None:
        told = f" ({in_words(fields)})" if fields is not None else ""
        return (_of_state(PARTITIONING, f"spec {written.spec_id}{told}", "no such spec"),)
    if fields is None or in_words(fields) == in_words(table.partitioning):
        return ()
    return (_of_state(PARTITIONING, in_words(fields), in_words(table.partitioning)),)


def _of_state(column: str, expected: str, found: str) -> SchemaDifference:
    return SchemaDifference(column=column, between=("state", "table"), expected=expected, found=found)


def _with_id(column: Column) -> str:
    return f"{column.type} with field id {column.field_id}"


def _with_need(column: Column | None, other: Column | None) -> str:
    """As `_in_words`, with whether it is required where the other side says otherwise."""
    told = _in_words(column, other)
    if column is None or (other.is_required if other is not None else False) == column.is_required:
        return told
    return f"{told}, {'required' if column.is_required else 'may be null'}"


def _keeps(promised: ContractColumn, there: Column | None) -> bool:
    if there is None:
        return False
    return promised.type is None or _bare(promised.type) == _bare(there.type)


def _bare(kind: str) -> str:
    """`decimal(12,2)` and `decimal(12, 2)` are one."""
    return "".join(kind.lower().split())


def _in_words(column: Column | None, other: Column | None) -> str:
    """Its type, with its name where the other side has another."""
    if column is None:
        return ABSENT
    return column.type if other is None or other.name == column.name else f"{column.type} named {column.name}"


MAX_AGE, MIN_KEPT = "history.expire.max-snapshot-age-ms", "history.expire.min-snapshots-to-keep"


_MAX_REF_AGE = "history.expire.max-ref-age-ms"


_DEFAULT_AGE = timedelta(days=5)
"""Iceberg's defaults: five days, one snapshot, and branches and tags for ever."""


_FOR_EVER_MS = 10**15
"""An age of 30,000 years or more, as who sets the highest number means it."""


_MAIN = "main"


def kept_for(table: TableState) -> timedelta:
    """The age from which main lets a snapshot be expired: its own, else the table's."""
    return _age_on(table, _ref(table, _MAIN))


def least_kept(table: TableState) -> int:
    """Snapshots of main that are kept whatever their age: its own number, else the table's."""
    return _least_on(table, _ref(table, _MAIN))


def says_itself(table: TableState) -> bool:
    """Whether main or the table sets the age; else it is Iceberg's default."""
    main = _ref(table, _MAIN)
    return (main is not None and main.max_snapshot_age_ms is not None) or _told(table, MAX_AGE) is not None


def ref_ends_in(table: TableState, ref: Ref) -> timedelta | None:
    """Until expiry may drop the branch or tag itself, below zero if it may now; None: never, as main."""
    age = ref.max_ref_age_ms if ref.max_ref_age_ms is not None else _told(table, _MAX_REF_AGE)
    named = table.by_id.get(ref.snapshot_id)
    if ref.name == _MAIN or age is None or age >= _FOR_EVER_MS or named is None:
        return None
    return named.committed_at + timedelta(milliseconds=age) - table.read_at


def stays_for(table: TableState, place: int | None, commit: Snapshot) -> timedelta | None:
    """Until the commit may expire, zero if it may now; None: a branch or tag without an end keeps it.

    `place`: how many commits of main are newer; None: main does not hold it.
    """
    if place == 0:
        return None
    aside = commit.committed_at + _age_on(table, None) - table.read_at
    left = [_left_on_main(table, place, commit) if place is not None else aside]
    for ref in table.refs:
        if ref.name == _MAIN:
            continue
        if ref.snapshot_id == commit.snapshot_id:
            end = ref_ends_in(table, ref)
        elif ref.kind == "branch":
            is_held, end = _held_below(table, ref, commit)
            if not is_held:
                continue
        else:
            continue
        if end is None:
            return None
        left.append(end)
    return max(*left, timedelta(0))


def _left_on_main(table: TableState, place: int, commit: Snapshot) -> timedelta:
    """Until its age is reached, and until enough newer snapshots stand above it at the present pace."""
    by_age = commit.committed_at + kept_for(table) - table.read_at
    missing = least_kept(table) - place
    newer = table.chain[:place]
    pace = (table.read_at - newer[-1].committed_at) / place
    return max(by_age, missing * pace)


def _held_below(table: TableState, ref: Ref, commit: Snapshot) -> tuple[bool, timedelta | None]:
    """(Whether the branch holds the commit below its own head, until when). A branch is taken to stay as it is."""
    for place, each in enumerate(table.ancestors(ref.snapshot_id)):
        if each.snapshot_id == commit.snapshot_id:
            ends = ref_ends_in(table, ref)
            if place < _least_on(table, ref):
                return True, ends
            by_age = commit.committed_at + _age_on(table, ref) - table.read_at
            return True, by_age if ends is None else min(by_age, ends)
        if table.place_of(each.snapshot_id) < table.place_of(commit.snapshot_id):
            break
    return False, None


def _age_on(table: TableState, branch: Ref | None) -> timedelta:
    own = branch.max_snapshot_age_ms if branch is not None else None
    age = own if own is not None else _told(table, MAX_AGE)
    return _DEFAULT_AGE if age is None else timedelta(milliseconds=min(age, _FOR_EVER_MS))


def _least_on(table: TableState, branch: Ref | None) -> int:
    own = branch.min_snapshots if branch is not None else None
    return own or _told(table, MIN_KEPT) or 1


def _told(table: TableState, name: str) -> int | None:
    told = table.properties.get(name, "")
    return int(told) if told.isdigit() else None


def _ref(table: TableState, name: str) -> Ref | None:
    return next((ref for ref in table.refs if ref.name == name), None)


CADENCE_SLACK = 2
"""Commits, or checkpoints, may be this many times their promised span apart before the term counts as broken."""


_ORDER = ("state", "checkpoint", "table")


_SHOWN = 4


_Judged = tuple[str, bool | None, str]
"""(what was observed, whether the term holds, what to do where it does not)"""


_IDLE = "See whether the source is idle. If it is not, the sink withholds its commits."


def term(of: Contract, promise: str, observed: str, holds: bool | None, action: str) -> Term:
    """A term with its answer; one that holds asks for nothing."""
    return Term(contract=of, term=promise, observed=observed, holds=holds, action="" if holds else action)


def in_order(terms: Collection[Term]) -> list[Term]:
    """State, checkpoint, table."""
    return sorted(terms, key=lambda each: _ORDER.index(each.contract))


def observed_terms(
    observation: Observation, contract: TableContract, trusted: SnapshotId | None, left_null: Collection[str] = ()
) -> tuple[Term, ...]:
    """`trusted`: the snapshot that a restore point must pair with. `left_null`: columns that evidence found without
    any value."""
    return (
        *_of_storage(observation, trusted),
        *_of_runs(observation, contract),
        *_of_columns(observation.table, contract, left_null),
        *([_readable(observation.table, contract.keep_snapshots)] if contract.keep_snapshots is not None else []),
    )


def cadence_term(table: TableState, since_id: SnapshotId | None, commit_every: timedelta | None) -> Term:
    """Whether main was committed to as often as promised, since the window began (None: since the first commit)."""
    promise, action = "Commits come at their cadence.", "Alert on the table's own commits, not only on the job's state."
    if commit_every is None:
        said = "The contract does not say how often the table is committed to."
        return term("table", promise, said, None, "Name commit_every in it.")
    since = table.by_id.get(since_id) if since_id is not None else None
    times = [s.committed_at for s in reversed(table.chain) if since is None or s.committed_at >= since.committed_at]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    if not gaps:
        said = f"Expected one every {span(commit_every)}; there are too few commits to tell."
        return term("table", promise, said, None, "Look again later.")
    said = f"Expected one every {span(commit_every)}; the longest pause since the window began was {span(max(gaps))}."
    return term("table", promise, said, max(gaps) <= CADENCE_SLACK * commit_every, action)


def fresh_term(promised: timedelta, observed: str, holds: bool | None) -> Term:
    """Of the promised age of the newest event."""
    action = "Ask for the evidence `freshness`. It tells whether commits or events stay away."
    return term("table", f"The newest event is at most {span(promised)} old.", observed, holds, action)


def _of_runs(observation: Observation, contract: TableContract) -> Iterator[Term]:
    """Of the newest run that Flink knows."""
    every, jobs = contract.checkpoint_every, observation.jobs
    judges: list[tuple[Contract, str, Callable[[JobRun], _Judged]]] = [
        ("state", "State outlives a run that is cancelled.", _outlives),
        ("checkpoint", "Checkpoints complete about every interval.", _on_time),
        ("checkpoint", "Checkpoints do not fail.", _without_failures),
        ("checkpoint", "What a checkpoint completes reaches the table.", lambda r: _arrives(r, observation.table)),
        ("checkpoint", "Checkpoints are on storage that outlives the machines.", _durable),
        ("checkpoint", "Checkpoints are exactly-once.", _exactly_once),
    ]
    if every is not None:
        judges.append(("checkpoint", f"A checkpoint every {span(every)}.", lambda run: _interval(run, every)))
    run = None if isinstance(jobs, NotSeen) else max(jobs.values, key=lambda each: each.started_at, default=None)
    for of, promise, judge in judges:
        if isinstance(jobs, NotSeen):
            yield _unseen(of, promise, jobs)
        elif run is None:
            action = "Start the job, or name it in the configuration as Flink names it."
            yield term(of, promise, "Flink remembers no run of this job.", None, action)
        else:
            yield term(of, promise, *judge(run))


def _unseen(of: Contract, promise: str, source: NotSeen) -> Term:
    return term(of, promise, f"Could not look: {source.reason}", None, source.remedy)


def _outlives(run: JobRun) -> _Judged:
    kept = run.settings.survives_cancel if run.settings is not None else None
    what = "perhaps kept (Flink does not say)" if kept is None else "kept" if kept else "deleted"
    action = "Set execution.checkpointing.externalized-checkpoint-retention to RETAIN_ON_CANCELLATION."
    return f"Run {short_job(run.job_id)}: its checkpoints are {what} when it is cancelled.", kept, action


def _exactly_once(run: JobRun) -> _Judged:
    mode = run.settings.mode if run.settings is not None else None
    holds = None if mode is None else mode == "exactly_once"
    said = f"Run {short_job(run.job_id)}: the mode is {mode or 'not known'}."
    return said, holds, "Set execution.checkpointing.mode to EXACTLY_ONCE."


def _interval(run: JobRun, promised: timedelta) -> _Judged:
    action = "Set execution.checkpointing.interval as promised, or promise what is set."
    if run.checkpoint_interval_ms is None:
        return "Flink does not tell the interval of any run.", None, action
    found = timedelta(milliseconds=run.checkpoint_interval_ms)
    return f"Run {short_job(run.job_id)} is set to one every {span(found)}.", found <= promised, action


def _on_time(run: JobRun) -> _Judged:
    times = sorted(c.triggered_at for c in run.checkpoints if c.status == "COMPLETED")
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(times)]
    if run.checkpoint_interval_ms is None or not gaps:
        said = f"Run {short_job(run.job_id)} tells too little: {len(times)} completed checkpoints are known."
        return said, None, "Look again when the job has run for some intervals."
    interval, typical = timedelta(milliseconds=run.checkpoint_interval_ms), timedelta(seconds=median(gaps))
    said = f"The interval is {span(interval)}; completed checkpoints are typically {span(typical)} apart."
    action = "Find what delays the barrier: backpressure, large state, slow storage."
    return said, typical <= CADENCE_SLACK * interval, action


def _without_failures(run: JobRun) -> _Judged:
    total = run.completed_count + run.failed_count
    newest = next((f" The newest failure: {c.failure}" for c in run.checkpoints if c.failure), "")
    said = f"{run.failed_count} of {total} checkpoints of run {short_job(run.job_id)} failed.{newest}"
    action = "Read the failures, then decide how many the job may tolerate."
    return said, run.failed_count == 0 if total else None, action


def _arrives(run: JobRun, table: TableState) -> _Judged:
    completed = max((c.checkpoint_id for c in run.checkpoints if c.status == "COMPLETED"), default=None)
    own = (s.checkpoint_id for s in table.chain if s.job_id == run.job_id and s.checkpoint_id is not None)
    committed = max(own, default=None)
    name, allowed = f"run {short_job(run.job_id)}", empty_commits_allowed(table.properties)
    if completed is None:
        return f"No completed checkpoint of {name} is known.", None, "Look again later."
    if committed is None:
        holds = None if run.completed_count <= allowed else False
        return f"Checkpoint {completed} of {name} is complete; the table has no commit of it.", holds, _IDLE
    behind = completed - committed
    said = f"Checkpoint {completed} of {name} is complete, {committed} is in the table: {max(behind, 0)} behind."
    return said, True if behind <= 1 else (False if behind > allowed else None), _IDLE


def _durable(run: JobRun) -> _Judged:
    schemes = sorted({urlsplit(checkpoint.path).scheme for checkpoint in run.checkpoints if checkpoint.path})
    if not schemes:
        return "No checkpoint's path is known.", None, "Look again when one has completed."
    said = ", ".join(f"{scheme}:" if scheme else "a local path" for scheme in schemes)
    action = "Set execution.checkpointing.dir to object storage or HDFS."
    return f"They are written to {said}.", not {"", "file"} & set(schemes), action


def _of_storage(observation: Observation, trusted: SnapshotId | None) -> Iterator[Term]:
    """Where runs started, and the restore points: kept, made by a stop, and with their snapshots still there."""
    yield _started_from_pair(observation)
    for promise, judge in (
        ("Storage keeps a restore point that pairs with the trusted table state.", lambda o: _pair_kept(o, trusted)),
        ("Savepoints are made by stopping the job, so that each pairs with a commit.", _made_by_stop),
        ("Snapshots are kept as long as the restore points that pair with them.", _kept_beside),
    ):
        stored = observation.checkpoints
        if isinstance(stored, NotSeen):
            yield _unseen("state", promise, stored)
        else:
            yield term("state", promise, *judge(observation))


def _started_from_pair(observation: Observation) -> Term:
    """Only the newest restore of a run is known. After a failover that is one of its own checkpoints, which says
    nothing about where the run began."""
    promise, table = "A run starts from the checkpoint that the table carried at that moment.", observation.table
    if isinstance(observation.jobs, NotSeen):
        return _unseen("state", promise, observation.jobs)
    judged = []
    for run in observation.jobs.values:
        own = next((s for s in table.snapshots if s.job_id == run.job_id), None)
        if run.restored is None or own is None or (own.checkpoint_id or 0) <= run.restored.checkpoint_id:
            continue
        others = (s.checkpoint_id for s in table.ancestors(own.parent_id) if s.job_id and s.job_id != run.job_id)
        carried = next(others, None)
        if carried is not None:
            started = f"Run {short_job(run.job_id)} was started from checkpoint {run.restored.checkpoint_id}"
            fits = carried == run.restored.checkpoint_id
            judged.append((fits, f"{started} on a table that carried checkpoint {carried}."))
    if not judged:
        action = "Keep finished runs in Flink's history (a history server, or a longer jobstore.expiration-time)."
        return term("state", promise, "Flink remembers no run that was restored and has committed.", None, action)
    wrong = [said for fits, said in judged if not fits]
    action = "Compare checkpoint and head before each restore, and refuse one that does not pair."
    return term("state", promise, " ".join(wrong or [said for _, said in judged]), not wrong, action)


def _pair_kept(observation: Observation, trusted_id: SnapshotId | None) -> _Judged:
    points = observation.checkpoints.values
    trusted = observation.table.by_id.get(trusted_id) if trusted_id is not None else None
    broken = sum(1 for point in points if point.problem)
    aside = f" {broken} of {len(points)} restore points cannot be read." if broken else ""
    if trusted is None or trusted.job_id is None or trusted.checkpoint_id is None:
        said = f"The trusted snapshot {short(trusted_id)} does not name a checkpoint.{aside}"
        return said, None, "Take a savepoint at the next planned stop, and note the snapshot that it committed."
    key = (trusted.job_id, trusted.checkpoint_id)
    pair = next((p for p in points if (p.job_id, p.checkpoint_id) == key), None)
    wanted = f"checkpoint {trusted.checkpoint_id} of run {short_job(trusted.job_id)}"
    if pair is None or pair.problem:
        said = f"Nothing readable on storage pairs with {short(trusted.snapshot_id)} ({wanted}).{aside}"
        return said, False, "Retain checkpoints for longer than a fault stays unnoticed, or take savepoints regularly."
    return f"The {pair.kind.value} at {pair.path} is {wanted}.{aside}", True, ""


def _made_by_stop(observation: Observation) -> _Judged:
    kinds = [point.kind for point in own_points(observation)]
    stop, between, unclear = (
        kinds.count(kind) for kind in (CheckpointKind.STOP_SAVEPOINT, CheckpointKind.SAVEPOINT, CheckpointKind.UNKNOWN)
    )
    said = f"On storage: {stop} made by a stop, {between} made while the job ran, {unclear} of unknown kind."
    if between:
        return said, False, "Mark or remove those made while the job ran: no restore from them is safe."
    return said, None if unclear or not stop else True, "Make savepoints with stop-with-savepoint, never drained."


def _kept_beside(observation: Observation) -> _Judged:
    """A job that starts from a point whose snapshot expired repeats or loses rows. Judged by time, as expiry does:
    below the oldest listed commit of main everything that no ref keeps is gone."""
    table, points = observation.table, [p for p in own_points(observation) if not p.problem and p.job_id is not None]
    points = [point for point in points if point.checkpoint_id is not None]
    oldest = table.chain[-1] if table.chain else None
    if not points or oldest is None:
        said = "Storage has no readable restore point." if oldest is not None else "The table has no snapshot."
        return said, None, "Look again when there is one."
    listed = {(s.job_id, s.checkpoint_id) for s in table.snapshots}
    before = [p for p in points if oldest.has_commit_below and p.written_at < oldest.committed_at]
    alone = [point for point in before if (point.job_id, point.checkpoint_id) not in listed]
    if not alone:
        return f"None of {len(points)} restore points outlived its snapshot.", True, ""
    first = min(alone, key=lambda each: each.written_at)
    said = (
        f"{len(alone)} of {len(points)} restore points {'is' if len(alone) == 1 else 'are'} older than the oldest "
        f"listed commit ({clock_time(oldest.committed_at, table.read_at)}); the first, at {first.path}, was written "
        f"{clock_time(first.written_at, table.read_at)}."
    )
    return said, False, "Tag the snapshot that a kept restore point pairs with, or remove the restore point with it."


def _readable(table: TableState, promised: timedelta) -> Term:
    """By what expiry has left, and by what the table lets it take."""
    promise = f"Snapshots stay readable for {span(promised)}."
    action = f"Set {MAX_AGE} to at least the promised time, and let maintenance obey it."
    oldest = table.chain[-1] if table.chain else None
    if oldest is not None and oldest.has_commit_below and (age := table.read_at - oldest.committed_at) < promised:
        commit = f"The oldest listed commit, {short(oldest.snapshot_id)}, is {span(age)} old"
        return term("table", promise, f"{commit}, and those before it were expired.", False, action)
    by, allowed = "as the table sets" if says_itself(table) else "Iceberg's own default", kept_for(table)
    said = f"Expiry may take what is older than {span(allowed)} ({by})."
    return term("table", promise, said, allowed >= promised, action)


def _of_columns(table: TableState, contract: TableContract, left_null: Collection[str]) -> Iterator[Term]:
    """What the table itself refuses cannot be null; what it lets be null nobody has counted."""
    if not contract.columns:
        return
    apart = contract_differences(table.columns, contract)
    said = "; ".join(f"{each.column}: promised {each.expected}, found {each.found}" for each in apart[:_SHOWN])
    yield term(
        "table", "The table has every promised column.",
        f"{said}." if apart else "Each is there in the promised type.", not apart,
        "Align the table's schema with the contract.",
    )  # fmt: skip
    required = {column.name for column in contract.columns if column.required}
    there = [column for column in table.columns if column.name in required]
    if not there:
        return
    promise = f"Never null: {_names([column.name for column in there])}."
    empty = [column.name for column in there if column.name in left_null]
    nullable = [column.name for column in there if not column.is_required]
    if empty:
        action = "Let the job fill it, or do not promise that it is filled."
        yield term("table", promise, f"The job leaves {_names(empty)} null in every row.", False, action)
    elif nullable:
        said = f"Not observed: the table lets {_names(nullable)} be null, and no evidence counts nulls."
        action = "Make the column required in the table, so that null is refused."
        yield term("table", promise, said, None, action)
    else:
        yield term("table", promise, "The table refuses null there.", True, "")


def _names(columns: Sequence[str]) -> str:
    more = f" and {len(columns) - _SHOWN} more" if len(columns) > _SHOWN else ""
    return ", ".join(columns[:_SHOWN]) + more


_MINUTE = timedelta(minutes=1)


def contract_snippet(observation: Observation, filed: TableContract, effective: TableContract) -> str | None:
    """`filed`: what the file says; `effective`: with the configuration, which wins. None: nothing to add."""
    table = json.dumps(observation.table.name)
    columns, whole = [*_columns(observation.table, filed, effective)], [*_of_job(observation, filed)]
    if effective.position_is_dense not in (None, filed.position_is_dense):
        dense = str(effective.position_is_dense).lower()
        whole.append(f"  - {{property: positionIsDense, value: {dense}}}  # the configuration says so")
    levels = [
        f"- {{property: {name}, value: {round(takes.total_seconds())}, unit: s, element: {table}}}  # {why}"
        for name, takes, why in _levels(observation.table, filed, effective)
    ]
    lines = ["schema:", f"- physicalName: {table}"] if columns or whole else []
    lines += ["  customProperties:", *whole] if whole else []
    lines += ["  properties:", *columns] if columns else []
    return "\n".join([*lines, *(["slaProperties:", *levels] if levels else [])]) or None


def _columns(table: TableState, filed: TableContract, effective: TableContract) -> Iterator[str]:
    """One line a column of which the contract says too little or something else."""
    described = {column.name for column in filed.columns}
    apart = {each.column: each for each in contract_differences(table.columns, filed) if each.found != ABSENT}
    key = effective.key if effective.key != filed.key else ()
    parts = {
        getattr(effective, part): name
        for part, name in (
            ("position", "sourcePosition"), ("position_partition", "sourcePartition"), ("event_time", "eventTime")
        )
        if getattr(effective, part) not in (None, getattr(filed, part))
    }  # fmt: skip
    for column in table.columns:
        said, why = [f"name: {json.dumps(column.name)}"], []
        if column.name in apart or (filed.columns and column.name not in described):
            is_new = column.name not in apart
            physical = "timestamp_ntz" if column.type == "timestamp" else column.type
            said += [
                f"physicalType: {json.dumps(physical)}",
                *(["required: true"] if is_new and column.is_required else []),
            ]
            why.append("not described" if is_new else f"the contract promises {apart[column.name].expected}")
        if column.name in key:
            said += ["primaryKey: true", f"primaryKeyPosition: {key.index(column.name) + 1}"]
            why.append("the configuration counts duplicates by this key")
        if column.name in parts:
            said.append(f"customProperties: [{{property: {parts[column.name]}, value: true}}]")
            why.append("the configuration says so")
        if why:
            yield f"  - {{{', '.join(said)}}}  # {'; '.join(why)}"


def _of_job(observation: Observation, filed: TableContract) -> Iterator[str]:
    set_to = [run for run in observation.jobs.values if run.checkpoint_interval_ms]
    newest = max(set_to, key=lambda run: run.started_at, default=None)
    if filed.checkpoint_every is None and newest is not None and newest.checkpoint_interval_ms is not None:
        every = newest.checkpoint_interval_ms / 1000
        yield f"  - {{property: checkpointEvery, value: PT{every:g}S}}  # as the job is set"


def _levels(table: TableState, filed: TableContract, effective: TableContract) -> Iterator[tuple[str, timedelta, str]]:
    commits = effective.commit_every or _usual_pause(table)
    if filed.commit_every is None and commits is not None:
        yield "frequency", commits, "commits come about so often"
    if filed.keep_snapshots is None and effective.keep_snapshots is not None:
        yield "retention", effective.keep_snapshots, "the configuration promises it"


def _usual_pause(table: TableState) -> timedelta | None:
    """The median pause between commits of main, in whole minutes above one; None of fewer than four commits."""
    times = [snapshot.committed_at for snapshot in reversed(table.chain)]
    pauses = [(later - earlier).total_seconds() for earlier, later in pairwise(times)]
    if len(pauses) < 3:
        return None
    usual = timedelta(seconds=max(1, round(median(pauses))))
    return usual if usual < _MINUTE else _MINUTE * -(-usual // _MINUTE)
