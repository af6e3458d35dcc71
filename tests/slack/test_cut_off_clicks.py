"""Clicks and forms that were cut off, cannot be opened or arrive late are done or refused, and answered."""

import dataclasses
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bot.adapters.journal_sql.store import Store
from bot.incident.approval import ApprovalPolicy, VetoRule
from bot.incident.entries import Body
from bot.incident.journal import Entry
from bot.observation.errors import CouldNotKeep
from bot.observation.ids import IncidentId, ProposalId, UserId
from bot.ports import Delivery, Journal
from bot.slack.ids import Click
from bot.workspace import SeenMessage, Workspace
from tests.patient_slack import PATIENT
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder, eventually
from tests.slack.test_faults_of_slack import WL

WL1 = IncidentId("wl-1")
BEN, FINN = UserId("U0BEN00002"), UserId("U0FINN0006")
HOLD = timedelta(minutes=5)
HELD = ApprovalPolicy(users=(BEN,), expires_after=timedelta(hours=1), veto=VetoRule(users=(FINN,), hold=HOLD))


class Cut:
    """A record that does not take what is of one kind and says one word, once or for as long as the process lives."""

    def __init__(self, journal: Journal, kind: str, word: str, *, for_good: bool) -> None:
        self._journal, self._kind, self._word, self._for_good = journal, kind, word, for_good
        self.came = threading.Event()

    def append(
        self, incident: IncidentId, after_seq: int, bodies: Sequence[Body], *, by: str, at: datetime
    ) -> tuple[Entry, ...]:
        """See the port."""
        is_cut = self._for_good or not self.came.is_set()
        if is_cut and any(body.kind == self._kind and self._word in body.model_dump_json() for body in bodies):
            self.came.set()
            raise CouldNotKeep("Waterline's record cannot be written now.", "The disk is broken.", "")
        return self._journal.append(incident, after_seq, bodies, by=by, at=at)

    def __getattr__(self, name: str) -> object:
        return getattr(self._journal, name)


class Interruption:
    """Cuts a click off before an entry: by a disk that recovers, or by the end of the process."""

    def __init__(self, bot: LittleBot, slack: Workspace, *, dies: bool) -> None:
        self._bot, self._slack, self._dies = bot, slack, dies
        self._cut: Cut

    def comes_before(self, kind: str, word: str = "") -> None:
        """The bot, started anew, will be cut off before it writes such an entry."""

        def change(store: Store) -> Store:
            self._cut = Cut(store.journal, kind, word, for_good=self._dies)
            return dataclasses.replace(store, journal=self._cut)  # type: ignore[arg-type]

        self._bot.close()
        eventually(lambda: self._slack.connected == 0)
        self._bot.start(change)
        eventually(lambda: self._slack.connected == 1)

    def passes(self) -> None:
        """It was cut off; then the record can be written again."""
        assert self._cut.came.wait(45)
        if self._dies:
            self._bot.close()
            self._bot.start()


@pytest.fixture(params=["broken disk", "dies"])
def interruption(request: pytest.FixtureRequest, bot: LittleBot, slack: Workspace) -> Interruption:
    """Both take the same path."""
    return Interruption(bot, slack, dies=request.param == "dies")


@pytest.mark.parametrize("policy", [HELD])
def test_what_was_held_is_begun(
    collected: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot, interruption: Interruption
) -> None:
    """The click's own look had written that the hold is over; it is begun nevertheless, and who clicked hears so."""
    ben.clicks("Approve", ana.proposes())
    held = ana.sees_on_proposal(":hourglass_flowing_sand: Approved")
    view = bot.services.store.get(WL1).current_proposal
    assert view is not None
    interruption.comes_before("execution-started")
    bot.clock.advances(HOLD)

    told = ana.answer_to(lambda: (executes(bot, ana, held, view.proposal.id), interruption.passes()))

    assert "Started." in told


def executes(bot: LittleBot, ana: Responder, message: SeenMessage, proposal: ProposalId) -> None:
    """A click that comes before the message shows the end of the hold has no button yet: it is put where clicks come
    in."""
    body = {
        "type": "block_actions", "user": {"id": ana.id}, "channel": {"id": message.channel}, "trigger_id": "t1",
        "actions": [{"action_id": Click.EXECUTE, "value": f"{WL1}/{proposal}", "action_ts": "1"}], "container": {},
    }  # fmt: skip
    click = Delivery(key="click", kind="block_actions", payload=json.dumps(body), received_at=bot.clock.now())
    assert bot.store.inbox.put(click)


def test_what_looks_first_is_proposed(ana: Responder, bot: LittleBot, interruption: Interruption) -> None:
    """The evidence that it collects by itself was asked for; whoever proposed hears what became of the proposal."""
    ana.opens()
    interruption.comes_before("evidence-recorded")

    told = ana.answer_to(
        lambda: (ana.types("/waterline propose verify_current_state it is right"), interruption.passes())
    )

    assert "The table cannot be trusted as it is. The newest evidence says: 20 keys live more than once." in told


def test_a_freeze_is_made(collected: SeenMessage, ana: Responder, bot: LittleBot, interruption: Interruption) -> None:
    """That it is to be made was written; it is made nevertheless, and who asked hears so."""
    interruption.comes_before("maintenance-marked", '"status":"frozen"')

    told = ana.answer_to(lambda: (ana.types("/waterline freeze"), interruption.passes()))

    assert "Maintenance of sales.orders is frozen until wl-1 is closed" in told


ROOT = Path(__file__).parents[2]
NOT_OPENED = "Could not open the form. Slack said expired_trigger_id."


def test_a_form_whose_trigger_has_expired_is_told(collected: SeenMessage, ana: Responder, slack: Workspace) -> None:
    """The bot was slow for three seconds: the person hears that nothing was done, and clicks again."""
    slack.faults.sets_rules(trigger_s=0)
    answer = ana.answer_to(lambda: ana.clicks("Add a note…", collected))
    slack.faults.sets_rules(trigger_s=PATIENT.trigger_s)
    ana.clicks("Add a note…", collected)

    assert NOT_OPENED in answer
    assert "Nothing was changed." in answer
    ana.fills_reason("Now it opens.")
    ana.sees("Now it opens.")


def test_a_typed_command_whose_form_does_not_open_is_told(ana: Responder, bot: LittleBot, slack: Workspace) -> None:
    """Not only buttons open forms."""
    slack.faults.sets_rules(trigger_s=0)

    assert NOT_OPENED in ana.asks("open")


def test_a_click_that_slack_brings_twice_opens_its_form_once_and_says_nothing(
    collected: SeenMessage, ana: Responder, slack: Workspace
) -> None:
    """The form is there: the second delivery of the same click has nothing to tell."""
    slack.faults.doubles_deliveries()

    ana.clicks("Add a note…", collected)
    slack.faults.redelivers()
    ana.fills_reason("Once.")
    ana.sees("Once.")

    assert ana.was_told("form") == 0


@pytest.mark.parametrize("comes_again", [True, False])
def test_a_click_for_a_form_across_a_crash_is_answered(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace, comes_again: bool
) -> None:
    """Nobody knows whether the form had opened; Slack may bring the click again. One answer says what to do:
    which one depends on whether Slack had refused the form before the crash."""
    bot.close()
    eventually(lambda: slack.connected == 0)
    slack.faults.sets_rules(trigger_s=0)
    with _killed_while_working(bot, slack) as clicked:
        clicked(lambda: ana.clicks("Add a note…", collected))
    slack.faults.sets_rules(trigger_s=PATIENT.trigger_s)

    bot.start()
    if comes_again:
        eventually(lambda: slack.connected == 1)
        slack.faults.redelivers()
    eventually(lambda: ana.was_told("Nothing was changed.") > 0)
    ana.asks("status")

    assert ana.was_told("Nothing was changed.") == 1


@contextmanager
def _killed_while_working(bot: LittleBot, slack: Workspace) -> Iterator[Callable[[Callable[[], object]], None]]:
    """A bot of its own process that is killed once it takes a click from the inbox."""
    arguments = [str(bot.folder), slack.api_url, slack.bot_token, slack.app_token, "claimed"]
    killed = subprocess.Popen(
        [sys.executable, "-m", "tests.slack.killed_bot", *arguments],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip

    def clicked(click: Callable[[], object]) -> None:
        eventually(lambda: slack.connected == 1, 90)
        click()
        assert killed.wait(timeout=90) == -9
        eventually(lambda: slack.connected == 0)

    try:
        yield clicked
    finally:
        killed.kill()
        killed.wait()


NEXT = IncidentId("wl-2")


def test_a_form_to_open_that_another_overtook_is_answered_although_it_is_closed(
    ana: Responder, ben: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Both have the form open; Ana sends hers first, and Ben's arrives first."""
    ana.opens_form()
    ben.opens_form()
    slack.faults.holds_deliveries()
    ana.submits()
    ben.submits()
    ben.sees_on_card("under review")

    heard = ana.answer_to(slack.faults.lets_through)

    assert "wl-1" in heard
    assert [WL] == [incident.id for incident in bot.services.store.all()]


def test_a_click_on_an_incident_that_has_ended_does_nothing_to_the_next(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """The same table, the same channel, the same label; the button says which incident it is of."""
    ana.asks("assign")
    slack.faults.holds_deliveries()
    ana.clicks("Propose", collected)
    ana.asks("close anyway, it was a test")
    ana.opens()
    eventually(lambda: bot.services.store.get(NEXT).waterline is not None)

    heard = ana.answer_to(slack.faults.lets_through)

    assert "Incident wl-1 is closed." in heard
    assert {} == bot.services.store.get(NEXT).proposals
