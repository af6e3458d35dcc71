"""Held notices whose policy asks for different teams: counted as for a proposal."""

from collections.abc import Sequence

import pytest

from bot.domain.approval import ApprovalPolicy, People
from bot.domain.approval_answers import notices_counted
from bot.domain.entries import NoticesDecided, NoticesHeld, NoticesPreviewed
from bot.domain.errors import CouldNotLook, Refused
from bot.domain.ids import UserId
from bot.domain.notice import Notice
from bot.service.holding import Holding
from bot.service.incident_store import IncidentStore
from bot.service.other_doubts import OtherDoubts
from bot.slack.blocks.held import held_message, held_reminder_message
from tests.decisions import ANA, BEN, EVE
from tests.telling.conftest import Scene

CLEO = UserId("U0CLEO0003")
TWO_TEAMS = ApprovalPolicy(
    required=2,
    different_teams=2,
    teams={"streaming": People(users=(BEN,), groups=("S0STREAM01",)), "lakehouse": People(users=(EVE,))},
)


class _Streaming:
    """Cleo is in the group of the team streaming, which may not be readable."""

    is_readable = True

    def members(self, _groups: Sequence[str]) -> frozenset[UserId]:
        if not self.is_readable:
            raise CouldNotLook("The group cannot be read.", "Slack answered missing_scope.", "Add the scope.")
        return frozenset({CLEO})


@pytest.fixture
def directory() -> _Streaming:
    """As Slack answers."""
    return _Streaming()


@pytest.fixture
def holding(scene: Scene, directory: _Streaming) -> Holding:
    """One notice waits for two people of two teams."""
    notice = Notice(kind="update", revision=1, consumer="revenue_daily", channel="C0REVENUE1", text="Under review.")
    scene.story.says(NoticesPreviewed(name="seen", notices=(notice,)))
    scene.story.says(NoticesHeld(name="seen", policy=TWO_TEAMS, step=None), by=ANA)
    scene.clock.at = scene.story.now
    store = IncidentStore(scene.story.journal, scene.clock)
    return Holding(store, directory, scene.clock, OtherDoubts(store, None))


def needs(scene: Scene) -> str:
    """What the message says that is missing."""
    incident = scene.story.incident
    shown = str([block.to_dict() for block in held_message(incident, incident.held["seen"])[1]])
    return shown[shown.index("Needs ") :].partition(", not the asker's")[0]


def test_two_people_of_one_team_are_not_two_teams(scene: Scene, holding: Holding) -> None:
    """The second of the same team hears which team is missing, and so does everybody; the other team completes it."""
    before = needs(scene)
    holding.approve(scene.story.id, "seen", by=BEN)
    same = holding.approve(scene.story.id, "seen", by=CLEO)
    with pytest.raises(Refused, match=r"approved these notices already.*from another team.*lakehouse"):
        holding.approve(scene.story.id, "seen", by=BEN)
    waiting = dict(scene.story.incident.notices)
    after, reminder = needs(scene), held_reminder_message(scene.story.incident, same)[1]

    other = holding.approve(scene.story.id, "seen", by=EVE)

    assert ("Needs 2 approvals, from 2 different teams", "Needs 1 more approval, from another team") == (before, after)
    assert "still waits for 1 more approval, from another team" in str(reminder[0].to_dict())
    assert "They need 1 more approval, from another team. Ask team lakehouse" in notices_counted(same)
    assert [("streaming",), ("streaming",), ("lakehouse",)] == [given.teams for given in other.approvals]
    assert (0, 1) == (len(waiting), len(scene.story.incident.notices))
    assert notices_counted(other) == "Approved: the notices are on their way."


def test_a_yes_counts_only_where_its_teams_can_be_told(scene: Scene, holding: Holding, directory: _Streaming) -> None:
    """Eve may be of the team that nobody can read, too, and would count for it; a no is for no team."""
    directory.is_readable = False
    with pytest.raises(Refused, match=r"could not be looked up.*missing_scope"):
        holding.approve(scene.story.id, "seen", by=EVE)

    holding.turn_down(scene.story.id, "seen", "Not before noon.", by=EVE)

    [no] = [entry.body for entry in scene.story.incident.entries if isinstance(entry.body, NoticesDecided)]
    assert (False, "Not before noon.") == (no.yes, no.reason)


def test_a_record_of_before_reads_and_hashes_as_it_did() -> None:
    """Nobody's teams were written then."""
    said = NoticesDecided(name="seen", yes=True, complete=False)

    assert "teams" not in said.model_dump_json()
    assert said == NoticesDecided.model_validate_json(said.model_dump_json())
