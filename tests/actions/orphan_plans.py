"""A plan in which evidence lists old files that nothing names."""

from datetime import UTC, datetime

from bot.domain.action import Plan
from bot.domain.effects import MoveFiles
from bot.domain.findings import OrphanFilesFinding
from bot.domain.proposal import Proposal
from tests.actions.scene import Scene
from tests.little_flink import JOB
from tests.tables import job

NAME = "00000-0-x-00001.parquet"
YEARS_AGO = datetime(2023, 11, 14, tzinfo=UTC)


def planned(scene: Scene, location: str, *paths: str) -> Plan:
    """The table lies at `location`, its job stands still, and evidence lists these files, which are there."""
    scene.flink.stop(JOB, job("a"))
    plan = scene.plan()
    found = OrphanFilesFinding(files_listed=90, orphans=len(paths), bytes=4, young=0, paths=paths)
    table = plan.case.observation.table.model_copy(update={"location": location})
    observation = plan.case.observation.model_copy(update={"table": table})
    case = plan.case.model_copy(update={"orphans": found, "observation": observation})
    return plan.model_copy(update={"case": case, "written_at": lambda asked: dict.fromkeys(asked, YEARS_AGO)})


def move_of(proposal: Proposal) -> MoveFiles:
    """Its one effect that moves files."""
    [found] = [effect for effect in proposal.effects if isinstance(effect, MoveFiles)]
    return found
