"""Cards and forms show all that is approved: readers, rows without commits, long texts, terms of a review."""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.adapters.journal_sql import open_store
from bot.incident.approval import ApprovalPolicy
from bot.incident.entries import IncidentClosed, NoticeEnded, NoticeQueued, ReadersNoted, StepDone, WaterlineMoved
from bot.incident.execution import ProposalState, ProposalView
from bot.incident.incident import fold
from bot.incident.notice import Notice, ObservedReader
from bot.incident.proposal import OtherRows
from bot.incident.setup import TableSetup
from bot.observation.contract import TableContract
from bot.observation.errors import Refused
from bot.observation.findings import Limit, RecoveryDeadline
from bot.observation.ids import UserId, short
from bot.observation.readers import Consumer, ReadRun, Untold
from bot.slack.blocks.card import card_message
from bot.slack.blocks.proposal import proposal_message
from bot.slack.ids import Form
from bot.slack.limits import fit, pages, unfolded
from bot.slack.requests import Submitted
from bot.slack.submits import answer_item
from tests import orders_table as orders
from tests.approval.desk import Desk
from tests.incidents import Story, healthy

pytestmark = pytest.mark.smoke


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """An open incident; nobody was told, and nobody has looked."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        yield Story(store.journal).opens()


def setup(*names: str, untold: tuple[Untold, ...] = ()) -> TableSetup:
    """These are declared."""
    return TableSetup(
        name=orders.TABLE, job=orders.JOB, contract=TableContract(), policies={}, next_update_minutes=30,
        consumers=tuple(Consumer(name=name, channel="C0REVENUE1") for name in names), untold=untold,
    )  # fmt: skip


def card(story: Story, known: TableSetup | None) -> str:
    """Everything on it."""
    return str([block.to_dict() for block in card_message(story.incident, {}, {}.get, known)[1]])


def test_the_card_says_until_when_the_table_can_be_recovered(story: Story) -> None:
    """With a warning where little time is left or records are lost; no more once the table is proven."""
    until = orders.NINE + timedelta(days=2)
    limit = Limit(what="Kafka may delete orders/2 from offset 4,100 on", at=until, how="retention", after="Replay.")
    deadline = RecoveryDeadline(
        looked_at=orders.NINE, recoverable_until=until, because=limit.what, restore_point=None, limits=(limit,)
    )

    story.says(healthy().model_copy(update={"deadline": deadline}))
    said = card(story, None)
    story.says(healthy().model_copy(update={"deadline": deadline.model_copy(update={"lost_for_good": ("orders/1",)})}))
    lost = card(story, None)
    story.says(WaterlineMoved(snapshot=orders.HEAD, status="trusted"))

    assert (
        ":hourglass: Recoverable until 5 Nov, 09:00 UTC: then Kafka may delete orders/2 from offset 4,100 on." in said
    )
    assert ":warning: Lost for good: Kafka has deleted orders/1. Recoverable until" in lost
    assert "Recoverable" not in card(story, None)


def reads(consumer: str) -> ReadRun:
    """One run of the head."""
    return ReadRun(consumer=consumer, run_id="r1", at=orders.NINE, snapshot_id=orders.HEAD)


def test_declared_consumers_stand_on_the_card_before_the_first_notice(story: Story) -> None:
    """As many as one can take in; who has read is not looked at yet, and that is said."""
    shown = card(story, setup(*(f"report_{n}" for n in range(11))))

    assert "*Readers*" in shown
    assert "Declared, not notified yet: `report_0`, `report_1`" in shown
    assert "`report_7` and 3 more" in shown
    assert "Readers not checked yet" in shown


def test_who_was_seen_is_kept_apart_from_who_declared(story: Story) -> None:
    """As the ledger says before anybody has previewed a notice."""
    story.draws_the_ledger(orders.ledger((reads("revenue_daily"), reads("notebook"))))

    shown = card(story, setup("revenue_daily", "fraud_model"))

    assert "Declared, not notified yet: `revenue_daily`, `fraud_model`" in shown
    assert "Seen reading and declared: `revenue_daily`" in shown
    assert "Seen reading but not declared, so not notified: `notebook`" in shown


def test_a_lineage_that_could_not_be_asked_is_not_taken_for_nobody(story: Story) -> None:
    """Unknown is said as such; nobody only where lineage has answered."""
    story.draws_the_ledger(orders.ledger(readers_known=False))
    unknown = card(story, setup("revenue_daily"))
    story.draws_the_ledger(orders.ledger())
    nobody = card(story, setup("revenue_daily"))

    assert "Readers unknown: the lineage source did not answer" in unknown
    assert "Lineage shows no reader" in nobody


def test_whoever_was_not_among_those_told_stays_on_the_card(story: Story) -> None:
    """A consumer that was declared meanwhile, and a channel that cannot be told."""
    sent = Notice(kind="warning", revision=1, consumer="revenue_daily", channel="C0REVENUE1", text="Wait.")
    seen = ObservedReader(consumer="revenue_daily", distance=1, runs=1, is_declared=True)
    story.says(NoticeQueued(notice=sent), ReadersNoted(observed=(seen,), unknown="lineage: it was down"))

    teams = Untold(name="Orders", why="Waterline has no way to teams")
    shown = card(story, setup("revenue_daily", "fraud_model", untold=(teams,)))

    assert "*Notified*" in shown
    assert "Declared, not notified yet: `fraud_model`" in shown
    assert "1 channel of the data contract cannot be notified: `Orders` (Waterline has no way to teams)" in shown
    assert "Others may have read it unobserved. lineage: it was down" in shown


def test_a_table_without_consumers_or_without_configuration_says_so(story: Story) -> None:
    """Nobody declared is another thing than not known."""
    assert "No declared consumers" in card(story, setup())
    assert "declared consumers are unknown" in card(story, None)


READS = tuple(
    ReadRun(consumer=f"report_{n}", run_id=f"run-{n}", at=orders.NINE, snapshot_id=orders.HEAD) for n in range(14)
)


def shown(
    state: ProposalState = ProposalState.PROPOSED, policy: ApprovalPolicy | None = None, **preview: object
) -> str:
    """The message of Ana's proposal with this preview, as Slack gets it."""
    incident = fold(Desk().entries)
    [view] = incident.proposals.values()
    changes = {"preview": view.proposal.preview.model_copy(update=preview), "policy": policy or view.proposal.policy}
    changed = view.proposal.model_copy(update=changes)
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
    assert "*Removes from main:* nothing." not in told


def test_readers_that_are_not_known_are_told_where_only_rows_leave() -> None:
    """And nothing is, where nothing leaves."""
    assert "did not answer" in shown(commits=0, files=0, rows=220, affected_runs=(), readers_known=False)
    assert "*Removes from main:* nothing." in shown(commits=0, files=0, rows=0, affected_runs=())


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

    assert "*Runs only if:*" in told
    assert f"The table still lists snapshot {short(orders.GOOD)}." in told
    assert f"*Evidence:* {Desk().proposal.evidence[0]}" in told
    assert '"Emergency approval…"' in told
    assert "*Runs only if:*" not in later


def test_a_text_is_parted_without_loss() -> None:
    """At a line's end, else at a space; an escape stays whole."""
    words, escape = "word " * 1000, "a" * 2980 + "&amp;" + "b" * 100

    cut = [pages(words), pages(escape), pages(f"{escape}\nshort", 1900)]

    assert cut[0] == [part.strip() for part in cut[0]]
    assert " ".join(cut[0]) == words.strip()
    assert "".join(cut[1]) == escape
    assert "".join(cut[2]) == f"{escape}\nshort"
    assert all(len(part) <= most for parts, most in zip(cut, (3000, 3000, 1900), strict=True) for part in parts)


@pytest.mark.parametrize(("runs", "is_whole"), [(10, True), (11, True), (200, True), (700, False)])
def test_an_approval_covers_every_consumer_run_and_shows_it(runs: int, is_whole: bool) -> None:
    """By lines, or together where they are many; where a message cannot hold them, nobody says yes to it there."""
    read = tuple(
        ReadRun(consumer="revenue", run_id=f"{n:08d}-a", at=orders.NINE, snapshot_id=orders.HEAD) for n in range(runs)
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


def test_words_under_what_was_done_are_not_dropped_by_handing_the_term_on() -> None:
    """“Assign to the owner” is chosen when the form opens; who describes a fix easily leaves it so."""
    nobody: Any = None
    values = {"way": "assign", "owner": "U0BEN00001", "due": "2026-12-24", "reason": "Mended: the uid is pinned."}
    form = Submitted(user=UserId("U0ANA00001"), form=Form.TERM, about="wl-1/2", values=values, trigger="t")

    with pytest.raises(Refused, match="Nothing was saved") as refused:
        answer_item(nobody, form)

    assert "Mended: the uid is pinned." in str(refused.value)


def test_a_closed_card_is_folded_and_keeps_what_is_still_to_be_done(story: Story) -> None:
    """One section, and whom nothing has reached; of an open one each finished step is a short line."""
    story.says(StepDone(step=story.incident.runbook.steps[0].id, key="confirmed", why="It was found. " * 20))
    path = next(
        line for block in unfolded(fit(card_message(story.incident, {}, {}.get, setup())[1])) for line in _lines(block)
        if line.startswith(":red_circle:")
    )  # fmt: skip
    review = Notice(kind="review", revision=1, consumer="revenue", channel="C0REVENUE1", text="It held.")
    story.says(NoticeQueued(notice=review))
    story.says(NoticeEnded(key=review.key(story.id), how="failed", detail="no such channel"))
    open_ones = len(card_message(story.incident, {}, {}.get, setup())[1])

    story.says(IncidentClosed(reason="It was planned"))
    blocks = [block.to_dict() for block in card_message(story.incident, {}, {}.get, setup())[1]]

    assert len(path) <= 180
    assert path.endswith("found. It was found.")
    assert [block["type"] for block in blocks] == ["section", "section", "actions"]
    assert len(blocks) < open_ones
    assert "It was planned." in str(blocks[0])
    assert "Try again" in str(blocks[1])


def _lines(block: dict[str, Any]) -> list[str]:
    return [element["text"] for element in block.get("elements", []) if isinstance(element.get("text"), str)]


@pytest.mark.parametrize("alone", [True, False])
def test_what_is_approved_shrinks_once_nobody_can_say_yes(alone: bool) -> None:
    """What will happen and who may veto stay; while one can still approve it alone, all that a yes covers stays."""
    policy = Desk().proposal.policy.model_copy(update={} if alone else {"break_glass": None})

    held, approved = shown(ProposalState.HELD, policy=policy), shown(ProposalState.APPROVED, policy=policy)

    assert ("reads its source again from checkpoint" in held, "*Runs only if:*" in held) == (True, alone)
    assert "*Runs only if:*" not in approved
    assert "*How to undo it:*" not in approved
    assert all("What will happen: " in told and "may veto it until it runs" in told for told in (held, approved))
    assert '"Execute"' in approved
