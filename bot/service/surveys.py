"""What a proposal has to look at that no evidence tells: files of the table, rows of the source."""

from bot.domain.file_changes import FileSources, FileSurvey
from bot.domain.replay import ReplayRange, ReplayRecipe, SourceSurvey
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
