"""The bot is stopped between two steps and started again; notices that were overtaken; previews at scale."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.incident.entries import Body, EvidenceRecorded, NoticeEnded, NoticeQueued
from bot.incident.journal import WATERLINE
from bot.incident.notice import Notice
from bot.observation.ids import IncidentId
from bot.workspace import SeenMessage, Workspace
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder, eventually

pytestmark = [pytest.mark.slow, pytest.mark.rotating]

WL = IncidentId("wl-1")
REVENUE, FRAUD = "revenue-analytics", "fraud-ml"
ROOT = Path(__file__).parents[2]


def killed_at(slack: Workspace, bot: LittleBot, moment: str, do: Callable[[], object]) -> int:
    """Another process works on the folder until it is killed at this moment of what `do` begins; how it ended."""
    eventually(lambda: slack.connected == 0)
    process = subprocess.Popen(
        [
            sys.executable, "-m", "tests.slack.killed_bot", str(bot.folder), slack.api_url,
            slack.bot_token, slack.app_token, moment,
        ],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        eventually(lambda: slack.connected == 1, 90)
        do()
        code = process.wait(timeout=90)
    finally:
        process.kill()
        process.wait()
    eventually(lambda: slack.connected == 0)
    return code


def test_evidence_under_which_the_bot_was_killed_goes_on(ana: Responder, bot: LittleBot, slack: Workspace) -> None:
    """After the start it comes to the proposal without a click; what was asked before the kill is not asked again."""
    bot.close()
    code = killed_at(slack, bot, "running", lambda: ana.opens())
    before = dict(bot.services.store.get(WL).runs)

    bot.looks_first = True
    bot.start()
    ana.sees_on_card("Propose")
    bot.close()

    assert code == -9
    assert any(run.is_running for run in before.values())
    incident = bot.services.store.get(WL)
    steps = [run.step for run in incident.runs.values() if run.step is not None]
    assert len(steps) == len(set(steps)) == 4
    answered = [entry.body.run for entry in incident.entries if isinstance(entry.body, EvidenceRecorded)]
    assert len(answered) == len(set(answered))
    assert set(before) <= set(answered)


@pytest.mark.parametrize("moment", ["claimed", "posted"])
def test_a_bot_that_was_killed_goes_on_where_it_was(
    collected: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot, slack: Workspace, moment: str
) -> None:
    """A click that was stored is worked on after the start; a message that Slack has taken is found, not repeated."""
    bot.close()
    code = killed_at(slack, bot, moment, lambda: ana.clicks("Propose", ana.card))
    asked = len(bot.services.store.get(WL).proposals)

    bot.start()
    proposal = ana.sees_on_proposal("Approve")
    answer = ben.answer_to(lambda: ben.clicks("Approve", proposal))

    assert code == -9
    assert asked == (0 if moment == "claimed" else 1)
    assert "Approved." in answer
    assert len(bot.services.store.get(WL).proposals) == 1
    assert sum("What will happen" in m.plain for m in ana.messages()) == 1


@pytest.mark.parametrize("can_look", [True, False])
@pytest.mark.parametrize("moment", ["notice-claimed", "notice-taken", "notice-posted"])
def test_a_bot_that_was_killed_tells_each_consumer_once(
    slack: Workspace, ana: Responder, dana: Responder, eli: Responder, bot: LittleBot, moment: str, can_look: bool
) -> None:
    """A notice is looked for in its channel before it is sent again; where the bot may not look there, what may be
    there twice says so of itself. Each is on record as delivered, once."""
    ana.opens()
    bot.close()

    def do() -> None:
        ana.opens_form("notify update")
        ana.submits()

    code = killed_at(slack, bot, moment, do)
    if not can_look:
        slack.faults.fails("conversations.history", "missing_scope", times=100)

    bot.start()

    dana.sees("under review", REVENUE)
    eli.sees("under review", FRAUD)
    eventually(lambda: ends(bot) == ["delivered"] * 2)
    ana.asks("status")
    told = [*dana.messages(REVENUE), *eli.messages(FRAUD)]
    repeated = ["may appear twice" in message.plain for message in told]
    is_there = moment != "notice-claimed"
    assert code == -9
    assert (len(told), sum(repeated)) == (2 if can_look or not is_there else 3, 0 if can_look else 1)


def ends(bot: LittleBot) -> list[str]:
    """How each notice ended, as the record has it."""
    bodies = (entry.body for entry in bot.services.store.get(WL).entries)
    return [body.how for body in bodies if isinstance(body, NoticeEnded)]


def test_a_restart_repeats_nothing(
    collected: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Closing and starting again posts no message anew, and an approved proposal can be carried out afterwards."""
    ben.clicks("Approve", ana.proposes())
    ana.sees_on_proposal("Execute")
    ana.asks("status")
    before = [m.ts for m in ana.messages()]

    bot.restart()
    eventually(lambda: slack.connected == 1)
    ana.asks("status")
    after = [m.ts for m in ana.messages()]
    ana.clicks("Execute", ana.proposal)
    ana.sees("Verified at head")

    assert after[:-1] == before


def test_a_preview_from_before_the_restart_is_sent_as_it_was_seen(
    ana: Responder, bot: LittleBot, slack: Workspace, dana: Responder
) -> None:
    """The form may reach another process than the one that rendered it: it sends the very same text, once."""
    ana.opens_form()
    ana.submits()
    shown = ana.reads_form()
    ana.sees_on_card("under review")
    [previewed] = bot.services.store.get(WL).previews.values()

    bot.restart()
    eventually(lambda: slack.connected == 1)
    answer = ana.answer_to(ana.submits)
    eventually(lambda: dana.messages("revenue-analytics"))

    told = next(notice for notice in previewed if notice.consumer == "revenue_daily")
    sent = bot.services.store.get(WL).notices[told.key(WL)].notice
    assert "Sent to revenue_daily" in answer
    assert sent == told
    assert "revenue_daily" in shown
    assert len(dana.messages("revenue-analytics")) == 1


def notice(kind: str) -> Body:
    """To revenue_daily, in Slack."""
    text = f"This is {kind}."
    return NoticeQueued(notice=Notice(kind=kind, revision=1, consumer="revenue_daily", channel="C0REVENUE2", text=text))


def test_only_what_still_holds_is_posted(ana: Responder, dana: Responder, bot: LittleBot) -> None:
    """The bot was down while an all-clear waited for Slack, and the table came under review again."""
    ana.opens()
    eventually(lambda: bot.services.store.get(WL).waterline is not None)
    bot.close()
    back = bot.services.store.get(WL).waterline
    assert back is not None
    bodies = (back.model_copy(update={"status": "trusted"}), notice("recovered"), back, notice("correction"))
    for body in bodies:
        _says(bot, body)

    bot.start()
    dana.sees("This is correction.", REVENUE)
    eventually(lambda: ends(bot) == ["overtaken", "delivered"])

    assert ["This is correction."] == [message.plain.split("\n")[0] for message in dana.messages(REVENUE)]
    ana.sees("is not sent in Slack (C0REVENUE2)")


def _says(bot: LittleBot, body: Body) -> None:
    bot.services.store.write(WL, by=WATERLINE, decide=lambda _now: [body])
