"""The whole incident in the page: from the first command to a table that is proven whole."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Demo
from tests.browser.slack_page import SlackPage

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.timeout(850)]

EVIDENCE = (
    "Commit history",
    "Duplicate rows",
    "Missing positions",
    "Restore points",
)
SPARK_MS = 240_000


def test_a_replayed_table_is_recovered_by_two_people_in_the_page(demo: Demo, slack: SlackPage) -> None:
    """Ana finds out, Ben approves, Ana executes; the consumer is told, and PyIceberg finds every row exactly once."""
    broken = demo.proof()
    opens_an_incident(slack)
    reads_the_evidence(slack)
    slack.clicks("Propose", slack.card)
    decides_and_executes(slack)
    tells_the_consumers(slack)

    sees_the_notice_in_its_channel(slack)
    whole = demo.proof()

    assert broken.duplicates > 0
    assert whole.is_exactly_once
    assert whole.highest > 0


def opens_an_incident(slack: SlackPage) -> None:
    """Types the command, fills the form, sends the first warning as it is previewed."""
    slack.types("/waterline open")
    expect(slack.modal).to_contain_text("Last snapshot with no known problem", timeout=60_000)
    slack.chooses("runbook", "duplicate-rows")
    slack.writes("Revenue of today is too high.")
    slack.submits("Open")
    slack.submits(re.compile("^Send"))
    expect(slack.card).to_contain_text("under review", timeout=60_000)


def reads_the_evidence(slack: SlackPage) -> None:
    """Clicks nothing: the card says what was found, and names what happened."""
    for title in EVIDENCE:
        expect(slack.card).to_contain_text(re.compile(f"{title}: (OK|problem|note)"), timeout=SPARK_MS)
    expect(slack.card).to_contain_text("Propose the repair", timeout=SPARK_MS)
    expect(slack.card).to_contain_text("was restored from checkpoint")


def decides_and_executes(slack: SlackPage) -> None:
    """The proposer cannot approve; Ben can; the proof appears in the proposal's thread."""
    slack.clicks("Approve", slack.proposal, confirmed=True)
    expect(slack.message("Only visible to you").filter(has_text="proposed")).to_be_visible(timeout=SPARK_MS)
    slack.becomes("ben")
    slack.clicks("Approve", slack.proposal, confirmed=True)
    expect(slack.proposal).to_contain_text("Approved by @Ben Okafor", timeout=SPARK_MS)
    slack.becomes("ana")
    slack.clicks("Execute", slack.proposal, confirmed=True)
    thread = slack.opens_thread(slack.proposal)
    expect(thread).to_contain_text("Verified at head", timeout=SPARK_MS)
    expect(slack.proposal).to_contain_text("Done and verified at head", timeout=60_000)


def tells_the_consumers(slack: SlackPage) -> None:
    """After the two looks that come by themselves, the notice as it was previewed."""
    for title in ("Look again: duplicate rows", "Look again: missing positions"):
        expect(slack.card).to_contain_text(f"{title}: OK", timeout=SPARK_MS)
    slack.clicks("Preview and send…", slack.card)
    expect(slack.modal).to_contain_text("is verified again", timeout=60_000)
    slack.submits(re.compile("^Send"))
    expect(slack.card).to_contain_text("Tell consumers that the table recovered: sent", timeout=60_000)


def sees_the_notice_in_its_channel(slack: SlackPage) -> None:
    """Dana, who reads the table, is told what to run again, in the team's own channel."""
    slack.becomes("dana")
    slack.looks_at("revenue-analytics")
    notice = slack.message("is verified again")
    expect(notice).to_contain_text(re.compile("Please run again( later)?: revenue_daily"), timeout=60_000)
