"""The bot is killed between two steps and started again: what was asked is done, once."""

import subprocess
import sys
from pathlib import Path

import pytest

from bot.domain.ids import IncidentId
from bot.workspace import SeenMessage, Workspace
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder, eventually

WL = IncidentId("wl-1")
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("moment", ["claimed", "posted"])
def test_a_bot_that_was_killed_goes_on_where_it_was(
    collected: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot, slack: Workspace, moment: str
) -> None:
    """A click that was stored is worked on after the start; a message that Slack has taken is found, not repeated."""
    bot.close()
    eventually(lambda: slack.connected == 0)
    killed = subprocess.Popen(
        [
            sys.executable, "-m", "tests.slack.killed_bot", str(bot.folder), slack.api_url,
            slack.bot_token, slack.app_token, moment,
        ],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        eventually(lambda: slack.connected == 1, 90)
        ana.clicks("Propose", ana.card)
        code = killed.wait(timeout=30)
    finally:
        killed.kill()
        killed.wait()
    eventually(lambda: slack.connected == 0)
    asked = len(bot.services.store.get(WL).proposals)

    bot.start()
    proposal = ana.sees_on_proposal("Approve")
    answer = ben.answer_to(lambda: ben.clicks("Approve", proposal))

    assert code == -9
    assert asked == (0 if moment == "claimed" else 1)
    assert "Approved." in answer
    assert len(bot.services.store.get(WL).proposals) == 1
    assert sum("What will happen" in m.plain for m in ana.messages()) == 1


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
    ana.sees("Proven, at head")

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
