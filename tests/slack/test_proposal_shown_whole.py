"""What is approved is seen: rows without commits, every reader counted, long texts to their end."""

import json

import pytest

from bot.domain.execution import ProposalState, ProposalView
from bot.domain.fold import fold
from bot.domain.ids import short
from bot.domain.proposal import AffectedRun, OtherRows
from bot.slack.blocks.proposal import proposal_message
from bot.slack.limits import SECTION_TEXT, fit
from bot.slack.text import parted
from tests import orders_table as orders
from tests.approval.desk import Desk

pytestmark = pytest.mark.smoke

READS = tuple(
    AffectedRun(consumer=f"report_{n}", run_id=f"run-{n}", at=orders.NINE, snapshot_id=orders.HEAD) for n in range(14)
)


def shown(state: ProposalState = ProposalState.PROPOSED, **preview: object) -> str:
    """The message of Ana's proposal with this preview, as Slack gets it."""
    incident = fold(Desk().entries)
    [view] = incident.proposals.values()
    changed = view.proposal.model_copy(update={"preview": view.proposal.preview.model_copy(update=preview)})
    incident.proposals[changed.id] = ProposalView(**{**vars(view), "proposal": changed, "state": state})
    _text, blocks = proposal_message(incident, incident.proposals[changed.id], {})
    return json.dumps(fit(blocks), ensure_ascii=False)


def test_rows_that_leave_without_a_commit_are_told_with_their_readers() -> None:
    """So the publication of a repair by key."""
    told = shown(commits=0, files=0, rows=220, affected_runs=READS)

    assert "220 rows. They stay readable" in told
    assert "0 commits" not in told
    assert all(f"report_{n} read" in told for n in range(14))
    assert "more" not in told
    assert "*Removes from main*\\nNothing." not in told


def test_readers_that_are_not_known_are_told_where_only_rows_leave() -> None:
    """And nothing is, where nothing leaves."""
    assert "did not answer" in shown(commits=0, files=0, rows=220, affected_runs=(), readers_known=False)
    assert "*Removes from main*\\nNothing." in shown(commits=0, files=0, rows=0, affected_runs=())


def test_rows_of_other_writers_stand_out() -> None:
    """Beside what leaves main."""
    others = (OtherRows(writer="spark application local-17", commits=(orders.HEAD,), rows=3),)

    assert "which the job does not read again:* 3 rows of spark application local-17" in shown(others=others)


def test_a_long_text_goes_on_in_further_paragraphs() -> None:
    """The last sentence is there, and so is Approve."""
    told = shown(sentences=(*(f"Tag commit {n:06d} as last-91ab20-{n}." for n in range(100)), "That is the end."))

    assert "That is the end." in told
    assert "Tag commit 000077" in told
    assert '"Approve"' in told


@pytest.mark.parametrize("state", [ProposalState.PROPOSED, ProposalState.HELD])
def test_what_no_message_of_slack_holds_gets_no_yes_there(state: ProposalState) -> None:
    """Neither an approver's nor one alone in an emergency; it says where instead."""
    told = shown(state, sentences=tuple(f"Tag commit {n:06d} as last-91ab20-{n}." for n in range(400)))

    assert '"text": "Approve"' not in told
    assert '"text": "Emergency approval…"' not in told
    assert "waterline proposal show wl-1" in told
    assert "Reject…" in told


def test_what_must_hold_and_what_is_cited_is_shown_to_whoever_says_yes() -> None:
    """The digest covers them as well; once it is carried out the record keeps them."""
    told, later = shown(), shown(ProposalState.APPLIED)

    assert "*Runs only if*" in told
    assert f"The table still lists snapshot {short(orders.GOOD)}." in told
    assert f"*Evidence:* {Desk().proposal.evidence[0]}" in told
    assert '"Emergency approval…"' in told
    assert "*Runs only if*" not in later


def test_a_text_is_parted_without_loss() -> None:
    """At a line's end, else at a space; an escape stays whole."""
    assert parted("short", SECTION_TEXT) == ["short"]
    assert parted("one two\nthree four", 12) == ["one two", "three four"]
    assert parted("one two three", 9) == ["one two", "three"]
    assert parted("aaaaaaa&amp;b", 10) == ["aaaaaaa", "&amp;b"]


@pytest.mark.parametrize(("runs", "is_whole"), [(10, True), (11, True), (200, True), (700, False)])
def test_an_approval_covers_every_consumer_run_and_shows_it(runs: int, is_whole: bool) -> None:
    """By lines, or together where they are many; where a message cannot hold them, nobody says yes to it there."""
    read = tuple(
        AffectedRun(consumer="revenue", run_id=f"{n:08d}-a", at=orders.NINE, snapshot_id=orders.HEAD)
        for n in range(runs)
    )

    told = shown(rows=220, affected_runs=read)

    assert is_whole == ('"text": "Approve"' in told)
    assert is_whole == all(f"`{n:08d}`" in told for n in range(runs))
    assert is_whole != ("waterline proposal show wl-1" in told)


def test_what_a_yes_means_is_shown_where_the_button_has_no_room_for_it() -> None:
    """The question at the button is cut at 300 characters."""
    tags = ", ".join(f"last-91ab20-{n}" for n in range(40))

    told = shown(sure=f"{tags} protect their snapshots from expiry.")

    assert "*What approving means*" in told
    assert "last-91ab20-39 protect their snapshots" in told
    assert "*What approving means*" not in shown()
