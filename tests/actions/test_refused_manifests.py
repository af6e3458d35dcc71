"""Manifests and tables of which an action refuses to guess."""

from types import SimpleNamespace
from typing import Any

import pytest

from bot.actions import rewind_table_and_job
from bot.actions._draft import job_and_head
from bot.actions.recover_leaked_manifests import _lost, propose
from bot.domain.errors import Refused
from bot.domain.file_changes import FileSurvey
from bot.domain.findings import LeakStanding
from tests.actions.scene import Scene
from tests.cases import Tale
from tests.evidence.empty_tales import TALES, ask_of, case_of
from tests.found import leaks


def test_a_strange_schema_is_refused_before_anything_is_proposed() -> None:
    """What was expected, what was found, and that the source gives the rows in the present schema."""
    tale = Tale().flink_runs("a").commits("a", 5).leaves_manifest("a", 3)
    found = FileSurvey(add=None, remove=None, unfit=("x.avro: field 99 of its schema 9 is discount (long)",))
    case = tale.looked_at(leaked=leaks(*tale.manifests, standing=LeakStanding.DROPPED))
    plan: Any = SimpleNamespace(case=case, survey=lambda *_: found)

    with pytest.raises(Refused, match="do not fit the table") as refused:
        propose(plan)

    assert "field 99 of its schema 9 is discount (long)" in refused.value.found
    assert "Replay their source range" in refused.value.remedy


def test_untold_manifests_are_refused_with_what_to_ask() -> None:
    """Neither is the job said to commit them, nor are they said not to be there."""
    tale = Tale().flink_runs("a").commits("a", 5).leaves_manifest("a", 3)

    with pytest.raises(Refused) as refused:
        _lost(leaks(*tale.manifests, standing=LeakStanding.UNTOLD))

    assert "may have been read again" in refused.value.found
    assert "missing_positions" in refused.value.remedy


def test_where_nothing_was_committed_nobody_is_sent_to_a_configuration_that_is_right(scene: Scene) -> None:
    """The job is known; there is no head to go back to."""
    plan = scene.plan()
    empty = case_of(ask_of(TALES["commits wait"]())).observation.table
    observation = plan.case.observation.model_copy(update={"table": empty})
    plan = plan.model_copy(update={"case": plan.case.model_copy(update={"observation": observation})})

    with pytest.raises(Refused, match=r"Main has no commit.*start it by hand"):
        job_and_head(plan, rewind_table_and_job.ACTION)
