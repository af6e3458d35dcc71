"""Looks at the outside world once, and keeps apart what was not seen from what is not there.

What no ledger of an incident has seen yet: commits that came after the newest one, or were taken back since.

Restore points that Flink names and that do not lie in the configured folders: a savepoint may be taken anywhere.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

import structlog
from ulid import ULID

from bot.actions._effects.handler import NO_REPLAYS, Clients
from bot.evidence import Collector
from bot.history.other_jobs import began_from, known_runs, other_jobs_in
from bot.history.starts import flink_commits
from bot.incident.incident import Incident
from bot.incident.setup import TableSetup
from bot.notices.affecting import affected_commits, changes_rows, ledger_rows
from bot.observation.contract import TableContract
from bot.observation.errors import CouldNotKeep, CouldNotLook, NotThere, UnknownTable, WaterlineError
from bot.observation.evidence import Ask, Observation
from bot.observation.findings import LedgerFinding
from bot.observation.flink import (
    CheckpointKind,
    FlinkManifest,
    JobRun,
    RememberedStart,
    StoredCheckpoint,
    start_of,
    with_kinds,
)
from bot.observation.ids import CheckpointId, EvidenceId, JobId, TableName, short_job
from bot.observation.kafka import KafkaPartition
from bot.observation.ledger import LedgerRow
from bot.observation.looked import NotSeen, Seen, unread_in
from bot.observation.readers import FarRead, ReadRun
from bot.observation.record import Utc
from bot.observation.table import Snapshot, TableState, UnnamedCommit, Window
from bot.observation.written import OF_STATE, WriterSource, WrittenSchema, writer_sources
from bot.ports import (
    CheckpointStore,
    Clock,
    JobPorts,
    NamedSavepoint,
    PastRuns,
    ReadEvents,
    SeenStarts,
    SourceReplays,
    TableCatalog,
    TableFiles,
)

_STARTS_KNOWN = 10_000
_BEGINNINGS = 3
"""So many runs are followed back: from what each was started."""
_AT_MOST = 12
"""So many are opened, the newest first: Flink remembers ten checkpoints of a run, and most of them are gone."""


def with_named(
    stored: Iterable[StoredCheckpoint],
    runs: Iterable[JobRun],
    storage: CheckpointStore,
    snapshots: Iterable[NamedSavepoint] = (),
) -> tuple[StoredCheckpoint, ...]:
    """`stored` and those that Flink or its operator names besides on the same storage, as far as they are there, newest
    first. One that may not be read is listed as unread, and no further one is tried.

    Storage of another kind or name is not asked: whoever may submit a job chooses what Flink names.
    """
    found = list(stored)
    known = {_name(each.path) for each in found}
    operators = (_bare(each.path, CheckpointKind.SAVEPOINT, None, None, each.at) for each in snapshots)
    named = {_name(bare.path): bare for bare in (*operators, *_named(runs)) if storage.may_hold(bare.path)}
    newest = sorted(named.items(), key=lambda item: item[1].written_at, reverse=True)
    for _, bare in [item for item in newest if item[0] not in known][:_AT_MOST]:
        try:
            found.append(storage.read(bare.path))
        except NotThere:
            continue
        except CouldNotLook as error:
            found.append(bare.model_copy(update={"problem": f"{error.happened} {error.found}".strip()}))
            break
    return tuple(sorted(found, key=lambda each: (each.written_at, each.checkpoint_id or 0), reverse=True))


def _named(runs: Iterable[JobRun]) -> Iterator[StoredCheckpoint]:
    """What Flink says of each: as it is listed where it cannot be read."""
    for run in runs:
        if run.restored is not None and run.restored.path is not None:
            kind = CheckpointKind.SAVEPOINT if run.restored.is_savepoint else CheckpointKind.UNKNOWN
            yield _bare(run.restored.path, kind, run.restored.checkpoint_id, None, run.restored.at)
        for each in run.checkpoints:
            if each.status == "COMPLETED" and each.path is not None and not each.discarded:
                yield _bare(each.path, each.kind, each.checkpoint_id, run.job_id, each.triggered_at)


def _bare(
    path: str, kind: CheckpointKind, checkpoint: CheckpointId | None, run: JobId | None, at: Utc
) -> StoredCheckpoint:
    return StoredCheckpoint(
        path=path, kind=kind, checkpoint_id=checkpoint, job_id=run, written_at=at, is_unread=True, problem="Not opened."
    )


def _name(path: str) -> str:
    """The last folders of a path, by which Flink tells its points apart wherever they are mounted: a savepoint's has
    random digits, and a checkpoint's its run's id before it."""
    parts = path.rstrip("/").split("/")
    return "/".join(parts[-2:] if parts[-1].startswith("chk-") else parts[-1:])


log = structlog.get_logger(__name__)


class Starts:
    """Keeps each start of a job that is seen, and gives back those of before. Without a record it knows none.

    What cannot be kept now is kept at the next look. A case without what was remembered only tells less.
    """

    def __init__(self, record: SeenStarts, clock: Clock) -> None:
        self._record = record
        self._clock = clock
        self._kept: dict[str, tuple[int, bool]] = {}
        """Of each start that this process knows to be kept: Flink's count of restores, and whether the run ended."""
        self._lock = threading.Lock()

    def see(self, job: str, runs: Iterable[JobRun]) -> None:
        """Cost: one write for each start that is new, or known better now; else none."""
        for run in runs:
            start = start_of(job, run, self._clock.now())
            if start is None:
                continue
            told = start.last_count, start.ended_at is not None
            with self._lock:
                if self._kept.get(start.key) == told:
                    continue
            try:
                self._record.add(start)
            except CouldNotKeep as error:
                log.warning("start of a job not kept", job=job, run=run.job_id, problem=str(error))
                return
            with self._lock:
                if len(self._kept) >= _STARTS_KNOWN:
                    self._kept.clear()
                self._kept[start.key] = told

    def of(self, jobs: Iterable[str]) -> tuple[RememberedStart, ...]:
        """By when each was first seen. Cost: one query a job."""
        try:
            found = [start for job in dict.fromkeys(jobs) for start in self._record.of(job)]
        except CouldNotKeep as error:
            log.warning("starts of jobs not read", problem=str(error))
            return ()
        return tuple(sorted(found, key=lambda start: start.first_seen))


T = TypeVar("T")
WindowOf = Callable[[TableState, Seen[JobRun] | NotSeen], Window]
"""Table and runs -> what is to be looked at. May raise Refused."""
_NO_READERS = NotSeen(
    source="the lineage events", reason="This check leaves them out.", remedy="Open an incident or run a diagnosis."
)
_CLOCKS_DIFFER = timedelta(minutes=5)
"""A reader's clock may be behind the writer's: a run counts as a reader of what was committed a little later."""


class Observer:
    """One look at table, job, restore points and readers."""

    def __init__(
        self,
        catalog: TableCatalog,
        tables: Mapping[TableName, TableSetup],
        jobs: Mapping[str, JobPorts],
        reads: ReadEvents,
        files: TableFiles,
        replays: SourceReplays | None = None,
        starts: Starts | None = None,
    ) -> None:
        """`replays`: only what carries out proposals needs them. `starts`: without them nothing is remembered."""
        self.catalog = catalog
        self.tables = tables
        self.jobs = jobs
        self._reads = reads
        self._starts = starts
        self.files = files
        self.clients = Clients(catalog, jobs, replays or NO_REPLAYS, tables)
        """What carries out proposals acts with these."""

    def setup(self, table: TableName) -> TableSetup:
        """The table's configuration. Raises UnknownTable with the tables that are configured."""
        found = self.tables.get(table)
        if found is None:
            raise UnknownTable(
                f"Waterline is not set up for a table {table}.",
                f"Configured are: {', '.join(self.tables) or 'none'}.",
                "Use one of these names, or add the table to the configuration file.",
            )
        return found

    def table(self, table: TableName) -> TableState:
        """Only the table. Raises UnknownTable, CouldNotLook."""
        self.setup(table)
        return self.catalog.load(table)

    def observe(
        self,
        table: TableName,
        *,
        window: Window | WindowOf | None = None,
        branch: str | None = None,
        with_readers: bool = True,
    ) -> Observation:
        """Everything, the sources asked at the same time. Raises only when the table itself cannot be read, and what
        `window` raises.

        `window`, where it is known or follows from table and runs, bounds how far back readers are looked for;
        `branch`, where one is named, stands in the place of main. Lineage is not read without readers.
        """
        setup = self.setup(table)
        state = self.catalog.load(table)
        if branch is not None:
            state = _seen_from(state, branch)
        with ThreadPoolExecutor(max_workers=6) as pool:
            jobs, others = pool.submit(self.runs, setup), pool.submit(self._others, setup)
            kafka = pool.submit(self.kafka_of, setup.job)

            def readers() -> Seen[ReadRun] | NotSeen:
                known = window(state, jobs.result()) if callable(window) else window
                return self.reads_since(state, readers_since(state, known))

            reads = pool.submit(readers) if with_readers else None
            leaks = pool.submit(_look, "the Flink manifests on storage", lambda: self.files.flink_manifests(state))
            beside = partial(_look, "the metadata files on storage", lambda: self.catalog.unnamed_commits(state))
            unnamed = pool.submit(beside) if with_readers else None
            runs = jobs.result()
            checkpoints = self.restore_points(setup, state, runs)
            manifests = _typed(leaks.result(), FlinkManifest)
            undeclared = self._undeclared(setup, state, (runs, others.result()))
            if isinstance(undeclared, NotSeen):  # whose commits these are, nobody can tell then
                runs, undeclared = undeclared, Seen[JobRun](source=undeclared.source, values=())
            seen = Observation(
                table=state,
                jobs=runs,
                checkpoints=checkpoints,
                reads=reads.result() if reads is not None else _NO_READERS,
                flink_manifests=manifests,
                others=others.result(),
                undeclared=undeclared.values,
                kafka=kafka.result(),
                unnamed_commits=_typed(unnamed.result(), UnnamedCommit) if unnamed is not None else None,
                remembered=self._remembered(setup),
            )
        return seen.model_copy(update={"written": self._written(seen)})

    def _written(self, seen: Observation) -> Seen[WrittenSchema] | NotSeen:
        """The first source that tells it; else why none does."""
        is_of_other_job = other_jobs_in(seen).has_run
        sources = writer_sources(seen.table, seen.checkpoints, seen.flink_manifests, is_of_other_job)
        if isinstance(sources, NotSeen):
            return sources
        looked: Seen[WrittenSchema] | NotSeen = Seen[WrittenSchema](source=OF_STATE, values=())

        def told_by(source: WriterSource) -> tuple[WrittenSchema]:
            return (self.files.written_under(seen.table, source),)

        for source in sources:
            looked = _typed(_look(OF_STATE, partial(told_by, source)), WrittenSchema)
            if isinstance(looked, Seen):
                break
        return looked

    def reads_since(self, table: TableState, since: datetime) -> Seen[ReadRun] | NotSeen:
        """Who read it after `since` (exclusive, by the readers' clocks)."""
        return _typed(_look("the lineage events", lambda: self._reads.reads(table, since)), ReadRun)

    def far_reads_since(self, table: TableState, since: datetime) -> Seen[FarRead] | NotSeen:
        """Who read what the table's readers had written, as far as lineage goes."""
        return _typed(_look("the lineage events", lambda: self._reads.downstream(table, since)), FarRead)

    def runs(self, setup: TableSetup) -> Seen[JobRun] | NotSeen:
        """Only what Flink says of the table's job, and its history server if there is one."""
        job = setup.job
        if job is None:
            return _not_configured("Flink", f"No job is configured for {setup.name}.")
        return self._runs_of(job)

    def _runs_of(self, job: str) -> Seen[JobRun] | NotSeen:
        ports = self.jobs[job]
        live = _look(f"Flink, job {job}", lambda: ports.flink.runs(job))
        seen = _typed(live if ports.history is None else _with_past(live, job, ports.history), JobRun)
        if self._starts is not None:
            self._starts.see(job, seen.values)
        return seen

    def _remembered(self, setup: TableSetup) -> tuple[RememberedStart, ...]:
        """With those that this look has seen."""
        jobs = (*([setup.job] if setup.job is not None else []), *setup.other_jobs)
        return self._starts.of(jobs) if self._starts is not None else ()

    def _others(self, setup: TableSetup) -> Seen[JobRun] | NotSeen | None:
        """Runs of the other jobs that are declared to write it; where one cannot be asked, that."""
        looked = [self._runs_of(job) for job in setup.other_jobs]
        unseen = next((each for each in looked if isinstance(each, NotSeen)), None)
        if unseen is not None or not looked:
            return unseen
        runs = tuple(run for each in looked for run in each.values)
        return Seen[JobRun](source=", and ".join(each.source for each in looked), values=runs)

    def _undeclared(
        self, setup: TableSetup, state: TableState, known: tuple[Seen[JobRun] | NotSeen | None, ...]
    ) -> Seen[JobRun] | NotSeen:
        """Runs with commits that are not `known` and that the job's Flink lists under another name; none where what is
        known was not seen."""
        job, named = setup.job, {run.job_id for looked in known if looked is not None for run in looked.values}
        among = {commit.job_id for commit in state.snapshots if commit.job_id is not None} - named
        if job is None or not among or any(isinstance(looked, NotSeen) for looked in known):
            return Seen[JobRun](source="Flink", values=())
        seen = _look(f"Flink, job {job}", lambda: self.jobs[job].flink.runs_of_others(job, among))
        return _typed(seen, JobRun)

    def kafka_of(self, job: str | None) -> Seen[KafkaPartition] | NotSeen | None:
        """What the job's broker holds; None where no broker is configured for it."""
        broker = self.jobs[job].kafka if job is not None else None
        if broker is None:
            return None
        return _typed(_look(f"the Kafka broker of {job}", broker.partitions), KafkaPartition)

    def before_a_start(
        self, setup: TableSetup, path: str, *, anywhere: bool
    ) -> tuple[StoredCheckpoint, tuple[Observation, ...]]:
        """One restore point of the job, and each table that the job writes, that of `setup` first. Of other restore
        points only those are read from which the point's run began. `anywhere`: also on storage that is none of the
        job's. Raises CouldNotLook; NotThere where there is no such point.
        """
        job = setup.job
        if job is None:
            raise CouldNotLook(
                f"Waterline cannot read the state of a job for {setup.name}.",
                "No Flink job is configured for the table.",
                "Name its `job` in the configuration file.",
            )
        storage = self.jobs[job].checkpoints
        if not anywhere and not storage.may_hold(path):
            raise CouldNotLook(
                f"Waterline does not read {path} here.",
                f"It is not on the storage of `checkpoint_dir` or `savepoint_dir` of {job}.",
                "Run `waterline restore-check` in a terminal, or copy the savepoint to the job's storage.",
            )
        with ThreadPoolExecutor(max_workers=6) as pool:
            point, loaded = pool.submit(storage.read, path), pool.submit(self.catalog.load, setup.name)
            jobs, others = pool.submit(self.runs, setup), pool.submit(self._others, setup)
            kafka = pool.submit(self.kafka_of, setup.job)
            state = loaded.result()
            leaks = pool.submit(_look, "the Flink manifests on storage", lambda: self.files.flink_manifests(state))
            stored, runs = point.result(), jobs.result()
            seen = Observation(
                table=state,
                jobs=runs,
                checkpoints=Seen[StoredCheckpoint](
                    source=path, values=with_kinds(self._with_beginnings(stored, runs.values, storage), runs.values)
                ),
                reads=_NO_READERS,
                flink_manifests=_typed(leaks.result(), FlinkManifest),
                others=others.result(),
                kafka=kafka.result(),
                remembered=self._remembered(setup),
            )
        return seen.checkpoints.values[0], (seen, *map(partial(self._beside, seen), siblings_of(self, setup, seen)))

    def _beside(self, seen: Observation, table: TableState) -> Observation:
        """The same of another table of the job."""
        leaks = _look(f"the Flink manifests of {table.name}", lambda: self.files.flink_manifests(table))
        others = self._others(self.setup(table.name))
        told = {"table": table, "flink_manifests": _typed(leaks, FlinkManifest), "others": others}
        return seen.model_copy(update=told)

    def _with_beginnings(
        self, stored: StoredCheckpoint, runs: Sequence[JobRun], storage: CheckpointStore
    ) -> tuple[StoredCheckpoint, ...]:
        """The point, and those from which its run began, and the run before that, as far as they can be read."""
        found, by_id = [stored], {run.job_id: run for run in runs}
        while len(found) <= _BEGINNINGS and found[-1].job_id in by_id:
            path = began_from(by_id[found[-1].job_id])
            if path is None or not storage.may_hold(path):
                break
            try:
                found.append(storage.read(path))
            except CouldNotLook:
                break
        return tuple(found)

    def restore_points(
        self, setup: TableSetup, state: TableState, runs: Seen[JobRun] | NotSeen
    ) -> Seen[StoredCheckpoint] | NotSeen:
        """All that storage has of the table's job, newest first."""
        job = setup.job
        if job is None:
            return _not_configured("the checkpoint storage", f"No job is configured for {setup.name}.")
        job_ids = sorted({s.job_id for s in state.snapshots if s.job_id} | {r.job_id for r in runs.values})
        looked = _look(f"the checkpoint storage of {job}", lambda: self.jobs[job].checkpoints.stored(job, job_ids))
        if isinstance(looked, NotSeen):
            return looked
        ports, snapshots = self.jobs[job], Seen[NamedSavepoint](source="savepoints of FlinkStateSnapshots", values=())
        kept = _look(snapshots.source, ports.snapshots) if ports.snapshots is not None else snapshots
        found = with_named(looked.values, runs.values, ports.checkpoints, kept.values)
        if isinstance(kept, NotSeen):  # one of them may be the point that is looked for
            unread = _bare(kept.source, CheckpointKind.SAVEPOINT, None, None, state.read_at)
            found = (unread.model_copy(update={"problem": f"{kept.reason} {kept.remedy}"}), *found)
        return Seen[StoredCheckpoint](source=looked.source, values=with_kinds(found, runs.values))


def siblings_of(observer: Observer, setup: TableSetup, observation: Observation) -> tuple[TableState, ...]:
    """The other tables that the job of `setup` writes: those that are configured with it, and of those without any job
    whichever can be read and was written last by one of its runs. One that the catalog does not know is none. Raises
    CouldNotLook where one of the first cannot be read."""
    if setup.job is None:
        return ()
    runs = known_runs(observation)
    found: list[TableState] = []
    for other in observer.tables.values():
        if other.name == setup.name or other.job not in {setup.job, None}:
            continue
        try:
            table = observer.catalog.load(other.name)
        except UnknownTable:
            continue
        except CouldNotLook:
            if other.job is None:
                continue
            raise
        if other.job is not None or any(s.job_id in runs for s in flink_commits(table)[-1:]):
            found.append(table)
    return tuple(found)


def _seen_from(table: TableState, branch: str) -> TableState:
    if table.ref(branch) is None:
        raise CouldNotLook(
            f"{table.name} has no branch {branch}.",
            "Expected the branch with the repair; somebody removed it.",
            "Propose the repair again.",
        )
    return table.seen_from(branch)


def readers_since(table: TableState, window: Window | None) -> datetime:
    """Readers before this moment (exclusive) do not matter: none of them can have read a commit of the window, or,
    where it is not known, any commit that is still listed."""
    since = window.on_main(table).since if window is not None else None
    edge = table.by_id.get(since) if since is not None else None
    oldest = min((s.committed_at for s in table.snapshots), default=table.read_at)
    return (edge.committed_at if edge is not None else oldest) - _CLOCKS_DIFFER


def _with_past(live: Seen[JobRun] | NotSeen, job: str, history: PastRuns) -> Seen[JobRun] | NotSeen:
    """The cluster's word stays what it is: a history server adds the runs that have ended, and when it is down that
    is said in `source`. When the cluster is down nobody knows what runs now; what the history tells then becomes
    part of the reason, not of the runs."""
    past = _look("its history server", lambda: history.past_runs(job, [run.job_id for run in live.values]))
    if isinstance(live, NotSeen):
        if isinstance(past, NotSeen) or not past.values:
            return live
        last = past.values[0]
        known = f"Its history server knows of {len(past.values)} that ended; the newest, run {short_job(last.job_id)}, "
        return live.model_copy(update={"reason": f"{live.reason} {known}is {last.state}."})
    if isinstance(past, NotSeen):
        return live.model_copy(update={"source": f"{live.source} (not its history server: {past.reason.rstrip('.')})"})
    both = sorted([*live.values, *past.values], key=lambda run: run.started_at, reverse=True)
    return Seen(source=f"{live.source}, and its history server", values=tuple(both))


def _look(source: str, ask: Callable[[], tuple[T, ...]]) -> Seen[T] | NotSeen:
    try:
        values = ask()
        return Seen(source=source, values=tuple(values), unread=unread_in(values))
    except CouldNotLook as error:
        return NotSeen(source=source, reason=f"{error.happened} {error.found}".strip(), remedy=error.remedy)


def _typed(looked: Seen[T] | NotSeen, kind: type[T]) -> Seen[T] | NotSeen:
    """The same with the concrete type, so that it can be kept as JSON and read back."""
    if isinstance(looked, NotSeen):
        return looked
    return Seen[kind](source=looked.source, values=looked.values, unread=looked.unread)  # type: ignore[valid-type]


def _not_configured(source: str, reason: str) -> NotSeen:
    return NotSeen(source=source, reason=reason, remedy="Name the job in the configuration file.")


PATIENCE_S = 20.0
"""Somebody waits for a preview. A ledger takes less than a second where Spark is up."""
_LINES = 3
"""Lines of commits that are read: main, and what was rolled back beside it."""


@dataclass(eq=False)
class NewerCommits:
    """Reads the manifests of such commits, no rows, and keeps nothing: a ledger of an incident is asked for there."""

    _collector: Collector
    _patience_s: float = PATIENCE_S

    def rows(self, incident: Incident, observation: Observation, contract: TableContract) -> tuple[LedgerRow, ...]:
        """One row a commit. Empty where there is none, where no ledger was asked for at all, and where Spark does not
        answer in time: notices then say of how many commits it is not known."""
        table = observation.table
        commits = affected_commits(incident, table)
        seen = ledger_rows(incident, commits)
        found: dict[int, LedgerRow] = {}
        for _ in range(_LINES if "ledger" in incident.latest else 0):
            unseen = [
                each
                for each in commits
                if each.snapshot_id not in seen and each.snapshot_id not in found and changes_rows(each, None)
            ]
            if not unseen:
                break
            told = self._ledger(observation, contract, _line_of(unseen))
            if not any(row.snapshot_id == unseen[-1].snapshot_id for row in told):
                break
            found |= {row.snapshot_id: row for row in told}
        return tuple(found.values())

    def _ledger(self, observation: Observation, contract: TableContract, window: Window) -> tuple[LedgerRow, ...]:
        run = EvidenceId(str(ULID()))
        ask = Ask(observation=observation, window=window, contract=contract)
        answer: list[tuple[LedgerRow, ...]] = []

        def collect() -> None:
            try:
                finding = self._collector.collect("ledger", ask, run=run).finding
            except WaterlineError as error:
                log.info("newer commits not read", problem=str(error))
                return
            answer.append(finding.ledger.rows if isinstance(finding, LedgerFinding) else ())

        reading = threading.Thread(target=collect, name="newer-commits", daemon=True)
        reading.start()
        reading.join(self._patience_s)
        if reading.is_alive():
            self._collector.cancel(run)
        return answer[0] if answer else ()


def _line_of(unseen: Sequence[Snapshot]) -> Window:
    """From below the oldest up to the newest, which may have been rolled back."""
    return Window(since=unseen[0].parent_id, until=unseen[-1].snapshot_id)
