"""The record is asked for once and comes once: through a crash, a lost answer, and where nobody can look."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from bot.slack.sender import MOST_TRIES
from bot.workspace import SeenMessage, Workspace
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder, eventually

ROOT = Path(__file__).parents[2]
_A_SECOND = timedelta(seconds=1)
_COMMENT = "The record of wl-1."


@pytest.fixture
def shown(collected: SeenMessage, ana: Responder) -> None:
    """An incident whose ledger is in its thread as a picture: the next upload is the record."""
    ana.sees("Newest on top, times in UTC.")


def exports(ana: Responder) -> list[SeenMessage]:
    """Every message of the card's thread that carries the record."""
    return [reply for reply in ana.card.replies if reply.plain.startswith(_COMMENT)]


def names(message: SeenMessage) -> list[str]:
    """Its files."""
    return [str(file["name"]) for file in message.shown["files"]]


def is_done(bot: LittleBot, slack: Workspace) -> bool:
    """Whether the outbox is done with the record whose answer was lost; time goes on while it is not."""
    bot.clock.advances(_A_SECOND)
    with closing(sqlite3.connect(bot.folder / "journal.db")) as record:
        sent = record.execute("SELECT count(*) FROM outbox WHERE key LIKE 'wl-1/record/%' AND state = 'sent'")
        return sent.fetchone() == (1,) and any(e.error == "internal_error" for e in slack.wire("api"))


def test_the_record_comes_into_the_thread_in_three_forms(shown: None, ana: Responder) -> None:
    """Each with its proof; the person is told that it comes."""
    answer = ana.asks("export")
    eventually(lambda: exports(ana))

    [export] = exports(ana)
    assert "appear in the thread" in answer
    assert [name.rpartition(".")[2] for name in names(export)] == ["html", "md", "json"]
    assert export.thread_ts == ana.card.ts


def test_a_redelivered_request_is_one_export_and_a_second_request_another(
    shown: None, ana: Responder, slack: Workspace
) -> None:
    """What Slack repeats counts once, what a person repeats is done again."""
    slack.faults.doubles_deliveries()

    ana.asks("export")
    eventually(lambda: len(exports(ana)) == 1)
    ana.asks("status")
    once = len(exports(ana))
    ana.asks("export")
    eventually(lambda: len(exports(ana)) == 2)

    assert once == 1


def test_an_export_whose_answer_was_lost_is_found_and_not_repeated(
    shown: None, ana: Responder, slack: Workspace, bot: LittleBot
) -> None:
    """The thread is searched for the files before they are sent again."""
    slack.faults.fails_after_effect("files.completeUploadExternal", "internal_error")

    ana.asks("export")
    eventually(lambda: is_done(bot, slack))

    assert len(exports(ana)) == 1
    assert len(slack.wire("api", "conversations.replies")) == 1


def test_where_nobody_can_look_the_repetition_says_so(
    shown: None, ana: Responder, slack: Workspace, bot: LittleBot
) -> None:
    """Without the right to read the thread it may be there twice."""
    slack.faults.fails_after_effect("files.completeUploadExternal", "internal_error")
    slack.faults.fails("conversations.replies", "missing_scope", times=5)

    ana.asks("export")
    eventually(lambda: is_done(bot, slack))

    assert ["may appear twice" in each.plain for each in exports(ana)] == [False, True]


def test_files_that_slack_refuses_are_told_with_another_way(shown: None, ana: Responder, slack: Workspace) -> None:
    """Who asked does not wait for what will not come."""
    slack.faults.fails("files.getUploadURLExternal", "missing_scope", times=MOST_TRIES)

    ana.asks("export")

    told = ana.sees("could not be posted").plain
    assert "Give the app the scope files:write." in told
    assert "waterline record export wl-1" in told


def test_a_bot_that_was_killed_after_slack_took_the_files_does_not_send_them_again(
    shown: None, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Nothing was written of it; the next start looks."""
    bot.close()
    eventually(lambda: slack.connected == 0)
    command = [sys.executable, "-m", "tests.slack.killed_bot", str(bot.folder), slack.api_url]
    killed = subprocess.Popen(
        [*command, slack.bot_token, slack.app_token, "exported"],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        eventually(lambda: slack.connected == 1, 90)
        ana.types("/waterline export")
        code = killed.wait(timeout=90)
    finally:
        killed.kill()
        killed.wait()
    eventually(lambda: slack.connected == 0)

    bot.start()
    ana.asks("note it went on")
    ana.sees("it went on")

    assert code == -9
    assert len(exports(ana)) == 1
