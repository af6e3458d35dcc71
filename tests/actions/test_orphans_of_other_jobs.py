"""A living run of the table's other jobs may have files in flight, as one of its own job may."""

from datetime import datetime

import pytest

from bot.actions import remove_orphan_files
from bot.domain.action import Plan
from bot.domain.errors import CouldNotLook, Refused
from bot.domain.flink import JobRun
from bot.domain.looked import NotSeen, Seen
from tests.actions.orphan_plans import NAME, YEARS_AGO, move_of, planned
from tests.actions.scene import Scene
from tests.tables import job

FILE = f"/lake/sales/orders/data/{NAME}"


def beside(scene: Scene, others: Seen[JobRun] | NotSeen) -> Plan:
    """The table's own job stands still."""
    plan = planned(scene, "/lake/sales/orders", FILE)
    observation = plan.case.observation.model_copy(update={"others": others})
    return plan.model_copy(update={"case": plan.case.model_copy(update={"observation": observation})})


def run_of_other(scene: Scene, **change: object) -> Seen[JobRun]:
    """It has completed no checkpoint since it began."""
    own = scene.flink.run(job("a"))
    assert own is not None
    told = {"job_id": job("b"), "name": "backfill", "state": "RUNNING", "ended_at": None, "checkpoints": ()}
    return Seen[JobRun](source="Flink", values=(own.model_copy(update={**told, **change}),))


def test_a_file_that_it_may_have_closed_stays(scene: Scene) -> None:
    """It was alive when the file was written, and nothing names such files before its next checkpoint."""
    began: datetime = YEARS_AGO

    with pytest.raises(Refused, match="No orphan file is old enough"):
        remove_orphan_files.propose(beside(scene, run_of_other(scene, started_at=began)))


def test_what_was_there_before_it_goes(scene: Scene) -> None:
    """The run began later."""
    proposal = remove_orphan_files.propose(beside(scene, run_of_other(scene)))

    assert [source for source, _ in move_of(proposal).moves] == [FILE]


def test_nothing_is_put_aside_while_its_flink_cannot_be_asked(scene: Scene) -> None:
    """Not seen is not ended."""
    with pytest.raises(CouldNotLook, match="its Flink does not answer"):
        remove_orphan_files.propose(beside(scene, NotSeen(source="Flink", reason="Timeout.", remedy="Wait.")))
