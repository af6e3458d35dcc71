"""What a proposal has to look at that no evidence tells: files of the table, rows of the source, tables of the job."""

from bot.actions._siblings import known_runs
from bot.domain.errors import CouldNotLook, UnknownTable
from bot.domain.evidence import Observation
from bot.domain.file_changes import FileSources, FileSurvey
from bot.domain.replay import ReplayRange, ReplayRecipe, SourceSurvey
from bot.domain.rewinds import flink_commits
from bot.domain.setup import TableSetup
from bot.domain.table import TableState
from bot.service.observing import Observer


def survey_of_files(
    observer: Observer, setup: TableSetup, add: FileSources | None, remove: FileSources | None
) -> FileSurvey:
    """Of main, with the bounds of what the contract names and does not hide. Raises CouldNotLook."""
    contract = setup.contract
    told = (contract.position, contract.event_time)
    columns = [name for name in told if name is not None and not contract.hides(name)]
    return observer.catalog.survey_files(setup.name, "main", add=add, remove=remove, columns=columns)


def survey_of_source(
    observer: Observer, setup: TableSetup, table: TableState, recipe: ReplayRecipe, bounds: ReplayRange
) -> SourceSurvey:
    """What a replay within these bounds would find in the source, and in the table. Raises CouldNotLook."""
    return observer.hands.replays.survey(table, recipe, bounds, setup.contract, setup.copies)


def declaration_of(observer: Observer, job: str) -> str | None:
    """Of what a start of `job` submits now; None where the job is not configured. Raises CouldNotLook."""
    ports = observer.jobs.get(job)
    return None if ports is None else ports.flink.declaration(job)


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
