"""A table without a commit: nothing of it can be taken back, and the refusal says what to do."""

import pytest

from bot.actions import rewind_table_and_job
from bot.actions._draft import job_and_head
from bot.domain.errors import Refused
from tests.actions.scene import Scene
from tests.evidence.empty_tales import TALES, ask_of, case_of


def test_where_nothing_was_committed_nobody_is_sent_to_a_configuration_that_is_right(scene: Scene) -> None:
    """The job is known; there is no head to go back to."""
    plan = scene.plan()
    empty = case_of(ask_of(TALES["commits wait"]())).observation.table
    observation = plan.case.observation.model_copy(update={"table": empty})
    plan = plan.model_copy(update={"case": plan.case.model_copy(update={"observation": observation})})

    with pytest.raises(Refused, match=r"Main has no commit.*start it by hand"):
        job_and_head(plan, rewind_table_and_job.ACTION)
