"""The ledger is in the incident's thread as a picture; one that Slack refuses stops nothing."""

import io

import pytest
from httpx import get
from PIL import Image

from bot.observation.ids import EvidenceId, IncidentId
from bot.workspace import SeenMessage, Workspace
from tests.slack.little_bot import LittleBot
from tests.slack.orders import Orders
from tests.slack.people import Responder, eventually

WL_1 = IncidentId("wl-1")
PICTURE = "Newest on top, times in UTC."


@pytest.fixture
def ana(ana: Responder, bot: LittleBot) -> Responder:
    """The responder, with an incident that is open; nobody has asked for its ledger."""
    ana.opens()
    return ana


def looks(bot: LittleBot) -> EvidenceId:
    """The ledger is asked for, and answered."""
    return bot.services.evidence.run_now(WL_1, "ledger").id


def pictures(ana: Responder) -> list[SeenMessage]:
    """Every picture in the thread of the incident's card."""
    return [reply for reply in ana.card.replies if PICTURE in reply.plain]


def test_a_ledger_is_posted_as_a_picture(ana: Responder, bot: LittleBot) -> None:
    """A PNG for dense screens of a phone's width, and the same in words for those who do not see it."""
    looks(bot)

    shown = ana.sees(PICTURE)

    [file] = shown.shown["files"]
    image = Image.open(io.BytesIO(get(file["url_private"]).content))
    assert (image.format, image.width, file["mimetype"]) == ("PNG", 720, "image/png")
    assert "commits from" in file["alt_txt"]
    assert "committed checkpoints" in file["alt_txt"]
    assert shown.thread_ts == ana.card.ts
    assert any("Commit history: " in reply.plain for reply in ana.card.replies)


def test_the_same_ledger_is_not_drawn_twice(ana: Responder, bot: LittleBot, orders: Orders) -> None:
    """Whoever asks again and sees nothing new gets the answer, and no second picture; a new commit is something new."""
    looks(bot)
    ana.sees(PICTURE)

    looks(bot)
    ana.asks("run ledger")
    eventually(lambda: any("Who committed what" in reply.plain for reply in ana.card.replies))
    unchanged = len(pictures(ana))
    orders.spark_appends()
    looks(bot)
    eventually(lambda: len(pictures(ana)) == 2)

    assert unchanged == 1


def test_without_the_scope_a_command_lists_the_commits(slack: Workspace, ana: Responder, bot: LittleBot) -> None:
    """The responder is told once what is missing, and every other message goes on."""
    slack.faults.fails("files.getUploadURLExternal", "missing_scope", times=5)

    looks(bot)

    told = ana.sees("could not be posted as a picture")
    assert "missing_scope" in told.plain
    assert "Give the app the scope files:write." in told.plain
    assert "Type /waterline commits for the list." in told.plain
    assert pictures(ana) == []
    bot.services.diagnostician.diagnose(WL_1)
    ana.sees("was restored from checkpoint 3")
