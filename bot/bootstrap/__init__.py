"""The composition root: the one module that builds adapters and hands them on. No rule lives here."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

import spark_tasks
from bot import actions, diagnosis
from bot.actions._support.completing import scan as find_actions
from bot.adapters.clock import SystemClock
from bot.adapters.contracts import announced_to, contract_of, merged, once_each, team_of
from bot.adapters.http import Logins
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.journal_sql.store import Store, record_of
from bot.adapters.lineage import NoLineage
from bot.adapters.scheduler import SchedulerTimers
from bot.adapters.table_files import FolderOfTable
from bot.bootstrap.content import CONTENT
from bot.bootstrap.outside import Outside, filed_contracts, job_ports, outside_of
from bot.bootstrap.watching import findings_of, with_watch
from bot.diagnosis._support.examine import ModeModule
from bot.diagnosis._support.examine import scan as find_modes
from bot.evidence import Collector, find_tasks
from bot.incident.setup import TableSetup
from bot.notices import scan as find_notices
from bot.observation.contract import TableContract
from bot.observation.ids import TableName
from bot.ports import Clock, Directory, EvidenceRunner
from bot.runbook.parse import read_all
from bot.service.background import Background
from bot.service.closing import Closing
from bot.service.diagnosing import Diagnostician, OtherDoubts, tasks_needed
from bot.service.diagnosis_service import DiagnosisService
from bot.service.evidence_service import EvidenceService
from bot.service.examining import Examiner
from bot.service.incident_store import IncidentStore
from bot.service.maintenance import Maintenance
from bot.service.notices.dispatcher import Deliveries
from bot.service.notices.late_readers import LateReaders
from bot.service.notices.notifying import Answering, Telling
from bot.service.observing import NewerCommits, Observer, Starts
from bot.service.opening import Opening
from bot.service.proposals.approving import Approvals, who_is_gone
from bot.service.proposals.executing import Executions
from bot.service.proposals.proposing import Proposals
from bot.service.proposals.verifying import Verifier
from bot.service.reconciler import Reconciler
from bot.service.record import Records
from bot.service.restoring import RestoreService
from bot.service.reviewing import Reviews
from bot.service.runbook_steps import RunbookSteps
from bot.service.savepoints import Savepoints, SavepointTags
from bot.service.services import Services
from bot.service.trust import TrustService
from bot.service.watching.finding_store import WatchFindings
from bot.service.waterline import Mark, Waterline
from bot.settings import Settings, refuse_unknown_actions


@dataclass(frozen=True)
class Built:
    """One running application, with the parts that surfaces need beside the services."""

    services: Services
    store: Store
    timers: SchedulerTimers
    runner: EvidenceRunner


@contextmanager
def build(
    settings: Settings,
    directory: Directory,
    *,
    clock: Clock | None = None,
    keep_record: bool = True,
    record: Store | None = None,
    is_leader: Callable[[], bool] | None = None,
    outside: Callable[[Settings, Clock, ExitStack], Outside] = outside_of,
) -> Iterator[Built]:
    """Everything but the surfaces, closed in the opposite order at the end. Raises BadConfiguration.

    `keep_record` False is for commands that open no incident: they work on an empty record that is thrown away.
    `record`: the settings' record, opened already; it stays open. With `is_leader`, which then says whether this
    process works on it, nobody joins those who work on it: a bot may be running. `outside`: what makes the outermost
    ports.
    """
    with ExitStack() as stack:
        store = record or stack.enter_context(record_of(settings, keep=keep_record))
        now = clock or store.clock
        if keep_record and is_leader is None:
            store.presence.join()
        tasks = find_tasks(spark_tasks)
        setups = setups_of(settings)
        incidents = IncidentStore(store.journal, now, setups)
        world = outside(settings, now, stack)
        collector = Collector(tasks, world.runner, now)
        observer = Observer(
            catalog=world.catalog,
            tables=setups,
            jobs=world.jobs,
            reads=world.reads,
            files=world.files,
            replays=world.replays,
            starts=Starts(store.starts, now),
        )
        services = assemble(
            incidents,
            observer,
            collector,
            directory,
            now,
            is_leader or store.presence.is_leader,
            filed=filed_contracts(settings),
            own_actions=settings.actions,
            mark=settings.catalog.mark,
            findings=findings_of(settings, store),
        )
        services = with_watch(services, settings, store, failure_modes())
        stack.callback(services.background.close)
        stack.callback(services.evidence.close)
        if services.watch is not None:
            stack.callback(services.watch.close)
        timers = SchedulerTimers(now)
        timers.start()
        stack.callback(timers.close)
        yield Built(services=services, store=store, timers=timers, runner=world.runner)


def setups_of(settings: Settings) -> dict[TableName, TableSetup]:
    """The watched tables, each with the contract of its file under what the settings say. Raises BadConfiguration."""
    found, known, notices = {}, find_actions(actions, settings.actions), find_notices(CONTENT / "messages")
    for name, setup in settings.setups.items():
        refuse_unknown_actions(name, setup.policies, known, notices)
        file = settings.tables[name].contract_file
        contract = setup.contract if file is None else merged(setup.contract, contract_of(file, name))
        has_mail = settings.notices.smtp is not None
        announced, untold = ((), ()) if file is None else announced_to(file, has_mail=has_mail)
        read = {"consumers": once_each((*setup.consumers, *announced)), "untold": untold}
        team = None if file is None else team_of(file)
        found[name] = setup.model_copy(update={"contract": contract, "team": team, **read})
    return found


@contextmanager
def restore_service(settings: Settings, table: TableName | None = None) -> Iterator[RestoreService]:
    """Only what tells whether a job may be started from a restore point: no record, no Spark, nothing that starts
    a job. `table`: only its jobs are asked. Raises BadConfiguration."""
    with ExitStack() as stack:
        clock, setups, logins = SystemClock(), setups_of(settings), Logins(settings.logins)
        catalog = PyIcebergCatalog(settings.catalog.name, settings.catalog.properties, clock)
        stack.callback(catalog.close)
        asked = set(settings.jobs) if table is None or table not in setups else set[str | None]()
        for setup in setups.values():
            if table in setups and setup.job == setups[table].job:
                asked |= {setup.job, *setup.other_jobs}
        ports = {
            name: job_ports(job.model_copy(update={"start": None}), stack, logins, settings.catalog.properties)
            for name, job in settings.jobs.items()
            if name in asked
        }
        observer = Observer(catalog, setups, ports, reads=NoLineage(), files=FolderOfTable(catalog.storage))
        yield RestoreService(observer, clock)


def assemble(
    incidents: IncidentStore,
    observer: Observer,
    collector: Collector,
    directory: Directory,
    clock: Clock,
    is_leader: Callable[[], bool],
    *,
    look_first: bool = True,
    filed: Callable[[TableName], TableContract | None] = lambda _: None,
    own_actions: Sequence[str] = (),
    mark: Mark = "tag",
    findings: WatchFindings | None = None,
) -> Services:
    """Every use case over these ports. `look_first` False: only evidence that somebody asks for is collected.
    `own_actions`: modules of actions beside the package's. `findings`: what the watch keeps, if
    there is one."""
    modes = failure_modes()
    cheap = [task for task in tasks_needed(modes) if collector.task(task).reads in {"nothing", "metadata"}]
    evidence = EvidenceService(
        incidents, observer, collector, is_leader, cheap if look_first else (), lambda each: reconciler.walk_on(each)
    )
    diagnostician = Diagnostician(incidents, observer, modes, look_first=evidence.look_first, collect=evidence.run_now)
    recipes = find_actions(actions, own_actions)
    diagnoses = DiagnosisService(incidents, diagnostician, recipes)
    proposals = Proposals(
        incidents, observer, diagnostician, recipes, clock,
        collect=evidence.run_now, who_is_gone=partial(who_is_gone, directory),
    )  # fmt: skip
    books = read_all(CONTENT / "runbooks", collector.tasks)
    opening = Opening(incidents, observer, books, findings, runs_evidence=look_first)
    approvals = Approvals(incidents, proposals, directory, clock)
    executions = Executions(incidents, observer, proposals, clock)
    verifier = Verifier(incidents, observer, evidence, recipes, clock)
    waterline = Waterline(incidents, observer.catalog, clock, mark)
    maintenance = Maintenance(incidents, observer.catalog)
    newer, others = NewerCommits(collector), OtherDoubts(incidents, findings)
    telling = Telling(incidents, observer, find_notices(CONTENT / "messages"), clock, newer, others, directory)
    background = Background(incidents, is_leader, workers=4)
    tags = SavepointTags(incidents, observer.catalog, clock)
    reconciler = Reconciler(
        incidents, background, evidence, diagnoses, proposals, approvals, executions, verifier, waterline, maintenance,
        telling, tags, LateReaders(incidents, observer, clock), observer.tables, clock,
    )  # fmt: skip
    reviews = Reviews(incidents, observer, filed, clock)
    return Services(
        clock=clock,
        store=incidents,
        observer=observer,
        opening=opening,
        savepoints=Savepoints(incidents, observer, clock),
        evidence=evidence,
        diagnostician=diagnostician,
        examiner=Examiner(observer, collector, modes),
        diagnoses=diagnoses,
        runbook_steps=RunbookSteps(incidents, reconciler.walk_on),
        proposals=proposals,
        approvals=approvals,
        executions=executions,
        telling=telling,
        answering=Answering(incidents),
        deliveries=Deliveries(incidents, others),
        trust=TrustService(incidents, observer, clock, is_marked=mark != "none"),
        maintenance=maintenance,
        reviews=reviews,
        closing=Closing(incidents, reviews, observer.tables),
        reconciler=reconciler,
        background=background,
        tasks=collector.tasks,
        records=records(observer.tables),
    )


def failure_modes() -> Mapping[str, ModeModule]:
    """Every module of `bot/diagnosis/`, by code."""
    return find_modes(diagnosis)


def records(tables: Mapping[TableName, TableSetup] | None = None) -> Records:
    """Writes incidents as documents, without what the contracts of these tables hide."""
    return Records(CONTENT / "messages" / "record", tables)
