"""A click that is to open a form is answered also where the form cannot be opened: nobody waits for nothing."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.workspace import SeenMessage, Workspace
from tests.patient_slack import PATIENT
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder, eventually

ROOT = Path(__file__).parents[2]
NOT_OPENED = "Could not open the form. Slack said expired_trigger_id."


def told(who: Responder, text: str) -> int:
    """How often this person was told so."""
    return sum(text in message.plain for message in who.messages() if message.is_ephemeral)


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

    assert told(ana, "form") == 0


@pytest.mark.parametrize("comes_again", [True, False])
def test_a_click_for_a_form_across_a_crash_is_answered(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace, comes_again: bool
) -> None:
    """Nobody knows whether the form had opened; Slack may bring the click again. One answer says what to do."""
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
    eventually(lambda: told(ana, "Click again") > 0)
    ana.asks("status")

    assert told(ana, "Click again") == 1


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
