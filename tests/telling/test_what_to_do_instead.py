"""Refusals of a notice name what to type instead; whoever calls for help is told where the answer comes."""

import pytest

from bot.domain.entries import IncidentClosed, WaterlineMoved
from bot.domain.errors import Refused
from bot.service.outdated import refuse_outdated
from bot.service.owed_notices import left_to_tell
from bot.service.telling_rules import refuse_after_close, refuse_false_comfort
from tests import orders_table as orders
from tests.decisions import ANA
from tests.telling.conftest import Scene
from tests.telling.test_owed_notices import setup, told

CORRECT = "/waterline tell correction WORDS"


def test_who_was_told_that_all_is_well_is_corrected_by_a_command(scene: Scene) -> None:
    """Nobody is warned after an all-clear that holds."""
    scene.queues(scene.mail())

    with pytest.raises(Refused, match=CORRECT):
        left_to_tell(scene.story.incident, setup("revenue_daily"), "first_warning")


def test_what_is_said_after_the_end_has_a_command(scene: Scene) -> None:
    """Of a new notice, and of one that did not arrive."""
    scene.story.says(told("update")).says(IncidentClosed(reason="Done."), by=ANA)
    incident = scene.story.incident
    [view] = incident.notices.values()

    with pytest.raises(Refused, match=CORRECT):
        refuse_after_close(incident, "update")
    with pytest.raises(Refused, match=CORRECT):
        refuse_outdated(incident, view)


def test_an_all_clear_that_may_not_be_said_names_what_may(scene: Scene) -> None:
    """The table was proven, and came under review again."""
    scene.story.says(WaterlineMoved(snapshot=orders.GOOD, status="under-review"))

    with pytest.raises(Refused, match=f"/waterline tell update, or {CORRECT}"):
        refuse_false_comfort(scene.story.incident, "recovered")
