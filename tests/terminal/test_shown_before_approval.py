"""The terminal shows all that the digest covers, and nothing that is typed can overwrite it."""

import pytest

from bot.cli.proposal import show_proposal
from bot.domain.execution import ProposalView
from bot.domain.fold import fold
from bot.domain.proposal import OtherRows, Proposal
from tests import orders_table as orders
from tests.approval.desk import Desk


def printed(capsys: pytest.CaptureFixture[str], proposal: Proposal) -> str:
    """What `show` prints of it."""
    show_proposal(ProposalView(proposal=proposal, step=None), fold(Desk().entries).runs, {})
    return capsys.readouterr().out


def test_counts_readers_and_requirements_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """With what a yes means."""
    proposal = Desk().proposal
    others = (OtherRows(writer="spark application local-17", commits=(orders.HEAD,), rows=3),)
    preview = proposal.preview.model_copy(update={"others": others})

    told = printed(capsys, proposal.model_copy(update={"preview": preview}))

    assert "3 commits, 6 files, 300 rows" in told
    assert f"Read by revenue_daily, run run-42: snapshot {orders.HEAD}" in told
    assert proposal.preview.sure in told
    assert f"snapshot-present: snapshot_id={orders.GOOD}" in told
    assert f"Evidence: {proposal.evidence[0]}" in told
    assert f"3 rows of spark application local-17 (commits {orders.HEAD})" in told


def test_readers_that_are_not_known_are_said_not_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    """As in Slack."""
    proposal = Desk().proposal
    preview = proposal.preview.model_copy(update={"readers_known": False})

    assert "could not be asked" in printed(capsys, proposal.model_copy(update={"preview": preview}))


def test_an_escape_in_a_reason_moves_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    """It is shown by its number, as in errors."""
    told = printed(capsys, Desk().proposal.model_copy(update={"because": "fine\x1b[2A\x1b[2Know"}))

    assert "\x1b" not in told
    assert "[U+001B][2A" in told
