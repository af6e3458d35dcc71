"""App Home: what waits for this person, their incidents, what was promised, and the trust of tables."""

from contextlib import closing
from pathlib import Path

import pytest

from bot.domain.approval import ApprovalPolicy
from bot.workspace import SeenMessage
from tests.little_flink import open_catalog
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder


@pytest.mark.smoke
def test_the_proposer_is_shown_their_incident_and_nothing_to_approve(
    collected: SeenMessage, ana: Responder, finn: Responder
) -> None:
    """Nobody approves their own proposal, and who is no approver has nothing waiting either."""
    ana.proposes()

    proposer, outsider = ana.home().plain, finn.home().plain

    assert "Waiting for your approval" not in proposer + outsider
    assert "Your incidents\n• wl-1" in proposer
    assert "Open incidents\n• wl-1" in outsider
    assert "the proposal expires, wl-1" in proposer


def test_a_consumers_owner_is_shown_their_table_first_and_why_it_is_doubted(
    collected: SeenMessage, dana: Responder, finn: Responder
) -> None:
    """Dana answers for a job that reads the table; Finn has no role."""
    owner, outsider = dana.home().plain, finn.home().plain

    assert "Your tables\n" in owner
    assert "sales.orders under review, waterline at …" in owner.replace("`", "")
    assert "(you own revenue_daily)" in owner
    assert "Incident wl-1 is open on it." in owner
    assert "\nTables\n" in outsider


def test_a_table_that_cannot_be_read_is_not_shown_as_trusted(ana: Responder, folder: Path) -> None:
    """The catalog does not have it any more: not knowing is shown as that, at Home and in the status."""
    with closing(open_catalog(folder)) as catalog:
        catalog.drop_table("sales.orders")

    home, status = ana.home().plain, ana.asks("status")

    assert "sales.orders unknown." in home.replace("`", ""), home
    assert "sales.orders: unknown." in status, status
    assert "trusted." not in home + status


def test_an_approver_sees_what_they_decide_about_and_the_notices_that_wait(
    ana: Responder, ben: Responder, finn: Responder, bot: LittleBot
) -> None:
    """By their user group in Slack; when they have agreed, nothing waits any more."""
    setup = next(iter(bot.services.observer.tables.values()))
    policies = {**setup.policies, "notice:first_warning": ApprovalPolicy(groups=("S0APPROVE1",))}
    bot.services.observer.tables = {setup.name: setup.model_copy(update={"policies": policies})}
    ana.opens_form()
    ana.submits()
    ana.reads_form()
    ana.submits()
    waiting = ben.sees("please read and send it")

    before, outsider = ben.home().plain, finn.home().plain
    ben.clicks("Read and send…", waiting)
    ben.reads_form()
    ben.submits()
    ben.sees("sent by")
    after = ben.home().plain

    assert "Waiting for your approval\n• wl-1 sales.orders: the notice “first warning” for" in before.replace("`", "")
    assert "(you approve for it)" in before
    assert "Waiting for your approval" not in outsider + after
    assert "you approve for it" not in outsider
