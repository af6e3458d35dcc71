"""What notices announce of a recovery, a backfill, a changed contract and a review."""

import json
from collections.abc import Mapping
from datetime import timedelta

import pytest

from bot.domain.approval import Approval
from bot.domain.effects import Effect, MakeBranch, PublishBranch, ReplayRows
from bot.domain.entries import (
    ExecutionEnded,
    ExecutionStarted,
    Finding,
    FindingSettled,
    NoticeEnded,
    NoticeQueued,
    ProposalApproved,
    ProposalEnded,
    ProposalMade,
    ReviewOpened,
)
from bot.domain.findings import BackfillFinding, ReplayableFinding
from bot.domain.ids import ProposalId, SnapshotId
from bot.domain.notice import Notice, NoticeData
from bot.domain.replay import PositionRange, Replay, ReplayRange, ReplayRecipe
from bot.notices import NoticeTemplate, data_of, render
from tests import orders_table as orders
from tests.decisions import ANA, BEN, CHANNEL, EVE, rewind
from tests.incidents import Story
from tests.notices.told import WORDS, told

TABLE_TERM = Finding(
    contract="table", term="One row per key (order_id).", observed="At 09:12 UTC: 200 keys live more than once.",
    holds=False, action="Write with upsert on this key.", owner=ANA,
)  # fmt: skip
INNER = (
    Finding(
        contract="state", term="Restores start from a point that pairs.",
        observed="s3://secret-state/savepoints/savepoint-6 has no pair.", holds=False, action="Start from 10.",
    ),
    Finding(
        contract="approval", term="Each change was approved as the table's policy requires.",
        observed=f"<@{EVE}> approved alone at 09:01 UTC: Ben was ill.", holds=False, action=f"Let <@{BEN}> judge.",
    ),
    Finding(contract="checkpoint", term="Checkpoints come.", observed="hdfs://inner/chk-7.", holds=None, action=""),
)  # fmt: skip


def test_the_newest_recovery_that_is_not_over_is_the_proposed_one(story: Story) -> None:
    """In the words of its approvers, with its state."""
    story.opens().proposes()
    proposed = told(story, "recovery_proposed").proposal
    story.approves().rewinds()
    applied = told(story, "recovery_proposed").proposal

    assert proposed is not None
    assert applied is not None
    assert (proposed.state, proposed.commits, proposed.rows, proposed.replayed_from) == ("proposed", 3, 300, 10)
    assert proposed.sentences == ("Stop run b92e04.", "Move main to …377421.", "Start from checkpoint 10.")
    assert applied.state == "applied"


def test_what_the_review_found_inside_stays_inside(story: Story, templates: Mapping[str, NoticeTemplate]) -> None:
    """No people, no reasons, no places on storage: consumers read of what they were promised."""
    odd = TABLE_TERM.model_copy(update={"term": "Positions.", "observed": f"See s3://lake/x.parquet, <@{ANA}>."})
    story.opens().says(ReviewOpened(findings=(TABLE_TERM, odd, *INNER)), by=ANA)

    body = render(templates["review_published"], told(story, "review_published")).split("Questions:")[0]

    assert [w for w in ("s3:", "hdfs:", "U0", "glass", "Ben was ill", "savepoint", "Restores") if w in body] == []


def test_the_review_is_told_as_to_what_consumers_were_promised(
    story: Story, templates: Mapping[str, NoticeTemplate]
) -> None:
    """The table's own terms, with what was mended since."""
    story.opens().says(ReviewOpened(findings=(TABLE_TERM, *INNER)), by=ANA)
    before = told(story, "review_published").review
    settled = FindingSettled(contract="table", term=TABLE_TERM.term, how="fixed", reason="<@U0ANA00001> did it.")
    story.says(settled, by=ANA)

    facts = told(story, "review_published")

    assert before is not None
    assert facts.review is not None
    assert (facts.review.looked_at, facts.review.unknown, facts.review.inner) == (1, 0, 3)
    assert [each.is_fixed for each in (*before.broken, *facts.review.broken)] == [False, True]
    text = render(templates["review_published"], facts)
    assert "1 term of the table's contract: 1 did not hold." in text
    assert "200 keys live more than once. This is fixed." in text


def sends(story: Story, kind: str, how: str | None = "delivered", *, may_be_there: bool = False) -> None:
    """To revenue_daily; None: it has no end yet."""
    notice = Notice(kind=kind, revision=1, consumer="revenue_daily", channel="C0REVENUE1", text="x", severity="sev2")
    story.says(NoticeQueued(notice=notice))
    if how is not None:
        ended = {"key": notice.key(story.id), "how": how, "detail": "x", "may_be_there": may_be_there}
        story.says(NoticeEnded.model_validate(ended))


def earlier(story: Story) -> str | None:
    """In the place of which notice a correction is to be read."""
    found = told(story, "correction").earlier
    return found.kind if found is not None else None


def test_a_correction_is_read_in_place_of_what_was_said_of_the_table(story: Story) -> None:
    """What came after it, and says nothing of the rows, still counts."""
    sends(story.opens(), "recovered")
    sends(story, "review_published")

    assert earlier(story) == "recovered"


@pytest.mark.parametrize("how", ["failed", "overtaken", None])
def test_a_correction_names_nothing_that_never_came(story: Story, how: str | None) -> None:
    """They would look for it; where nothing came at all, it names nothing."""
    sends(story.opens(), "first_warning", how)
    nothing = earlier(story)
    sends(story, "update")
    sends(story, "recovered", how)

    assert (nothing, earlier(story)) == (None, "update")


def test_a_correction_names_what_may_have_come(story: Story) -> None:
    """Its answer was lost: they may have it before them."""
    sends(story.opens(), "update")
    sends(story, "recovered", "failed", may_be_there=True)

    assert earlier(story) == "recovered"


def test_what_only_a_notice_said_that_did_not_come_is_said_by_the_one_in_its_place(
    story: Story, templates: Mapping[str, NoticeTemplate]
) -> None:
    """It is not sent any more once the newer one follows; what had come before is not repeated."""
    kind = "correction"
    story.opens()
    for revision, (words, how) in enumerate([("Read.", "delivered"), ("Column `a` <too>.", "failed")], start=1):
        notice = Notice(kind=kind, revision=revision, consumer="revenue_daily", channel="C0", text="x", words=words)
        ended = NoticeEnded.model_validate({"key": notice.key(story.id), "how": how, "detail": "x"})
        story.says(NoticeQueued(notice=notice)).says(ended)

    facts = told(story, kind)

    assert [each.words for each in facts.unheard] == ["Column `a` <too>."]
    assert "it may not have reached you: Column" in render(templates[kind], facts)
    assert "<too>" not in render(templates[kind], facts)


BRANCH = "recovery-wl-1"
REPLAY, PUBLICATION = ProposalId("01JBQ5M7Z3T9K4X8V2N6R0PWAE"), ProposalId("01JBQ5M7Z3T9K4X8V2N6R0PWAF")
SINCE, UNTIL = orders.NINE - timedelta(hours=2), orders.NINE - timedelta(hours=1)
BOUNDS = ReplayRange(positions=(PositionRange(first=100, last=109),))
GIVEN = ReplayableFinding(
    bounds=BOUNDS, missing=10, given=10, repeated=0, absent=10, elsewhere=0, not_given=0, event_from=SINCE,
    event_until=UNTIL, digest="ab" * 32,
)  # fmt: skip
RECIPE = ReplayRecipe(sql="SELECT 1", source="topic orders, kept for 7 days")


def _proposes(story: Story, proposal: ProposalId, *effects: Effect) -> Story:
    made = rewind(story.now)
    preview = made.preview.model_copy(update={"replayed_from": None, "rows": 0, "commits": 0})
    changes = {"id": proposal, "effects": effects, "preview": preview}
    return story.says(ProposalMade(step=None, proposal=made.model_copy(update=changes)), by=ANA)


def _approves(story: Story, proposal: ProposalId) -> Story:
    given = Approval(by=BEN, at=story.now, digest=story.incident.proposals[proposal].proposal.digest)
    return story.says(ProposalApproved(proposal=proposal, approval=given, complete=True), by=BEN)


def _starts(story: Story, proposal: ProposalId) -> Story:
    return story.says(ExecutionStarted(proposal=proposal), by=BEN)


def _ends(story: Story, proposal: ProposalId) -> Story:
    return story.says(ExecutionEnded(proposal=proposal, outcome="applied", sentence="It is done."))


def _replays(story: Story, digest: str = GIVEN.digest) -> Story:
    replay = Replay(
        recipe=RECIPE, bounds=BOUNDS, key=("order_id",), position="pos", position_partition=None, event_time=None,
        rows=10, digest=digest,
    )  # fmt: skip
    write = ReplayRows(table=orders.TABLE, branch=BRANCH, incident=story.id, why="Replay", replay=replay)
    return _proposes(story, REPLAY, MakeBranch(table=orders.TABLE, branch=BRANCH), write)


def _publishes(story: Story) -> Story:
    effect = PublishBranch(
        table=orders.TABLE, branch=BRANCH, base=orders.HEAD, head=SnapshotId(9), keep_head_as="left", drop_branch=True
    )
    return _proposes(story, PUBLICATION, effect)


def test_a_replay_is_announced_with_its_boundary_and_how_far_it_has_come(
    story: Story, templates: Mapping[str, NoticeTemplate]
) -> None:
    """From the proposal to the publication of its branch: consumers see the rows with the second approval."""
    story.opens().answers("replayable_rows", finding=GIVEN)
    progress = []
    for step in (
        lambda: _replays(story),
        lambda: _approves(story, REPLAY),
        lambda: _starts(story, REPLAY),
        lambda: _ends(story, REPLAY),
        lambda: _publishes(story),
        lambda: _approves(story, PUBLICATION),
        lambda: _starts(story, PUBLICATION),
        lambda: _ends(story, PUBLICATION),
    ):
        step()
        facts = told(story, "backfill_coming")
        assert facts.backfill is not None
        assert (facts.backfill.since, facts.backfill.until, facts.backfill.rows) == (SINCE, UNTIL, 10)
        assert "Event times from 3 Nov 2026, 07:00:00 to 08:00:00 UTC" in render(templates["backfill_coming"], facts)
        progress.append((facts.backfill.progress, facts.backfill.approve_by is not None))

    assert progress == [
        ("waits", True), ("approved", False), ("running", False), ("beside", False), ("publication-waits", True),
        ("approved", False), ("running", False), ("done", False),
    ]  # fmt: skip


def test_a_program_is_told_boundary_and_schedule(story: Story) -> None:
    """In `backfill_coming` only: elsewhere the words are about something else."""
    _replays(story.opens().answers("replayable_rows", finding=GIVEN))

    found = data_of(told(story, "backfill_coming"), "backfill_coming").backfill

    assert found is not None
    assert (found.event_from, found.event_until, found.rows, found.words) == (SINCE, UNTIL, 10, WORDS)
    assert (found.progress, found.approve_by) == ("waits", story.incident.proposals[REPLAY].proposal.expires_at)
    assert data_of(told(story, "update"), "update").backfill is None


@pytest.mark.parametrize("hidden", ["event_time", "EVENT_TIME"])
def test_a_hidden_event_time_is_told_to_nobody(
    story: Story, templates: Mapping[str, NoticeTemplate], hidden: str
) -> None:
    """Neither in words nor to programs; how many rows, and how far it has come, is told."""
    _replays(story.opens().answers("replayable_rows", finding=GIVEN))
    contract = orders.contract().model_copy(update={"event_time": "event_time", "redacted": (hidden,)})

    facts = told(story, "backfill_coming", contract)
    data = data_of(facts, "backfill_coming").backfill

    assert data is not None
    assert (data.event_from, data.event_until, data.rows, data.progress) == (None, None, 10, "waits")
    assert (facts.damage.missing_positions, facts.damage.missing_from, facts.damage.missing_until) == (10, None, None)
    assert "Event times" not in render(templates["backfill_coming"], facts)


def test_the_boundary_is_that_of_the_very_rows_that_are_proposed(
    story: Story, templates: Mapping[str, NoticeTemplate]
) -> None:
    """Another look that found other rows does not count."""
    _replays(story.opens().answers("replayable_rows", finding=GIVEN), digest="cd" * 32)

    facts = told(story, "backfill_coming")

    assert facts.backfill is not None
    assert (facts.backfill.since, facts.backfill.rows) == (None, 10)
    assert "10 rows" in render(templates["backfill_coming"], facts)


def test_what_was_rejected_is_not_announced(story: Story) -> None:
    """It will not happen."""
    _replays(story.opens().answers("replayable_rows", finding=GIVEN))
    story.says(ProposalEnded(proposal=REPLAY, how="rejected", reason="Not now."), by=BEN)

    facts = told(story, "backfill_coming")

    assert (facts.backfill, facts.proposal) == (None, None)


def test_after_a_rewind_the_job_brings_the_rows_again(story: Story) -> None:
    """With the checkpoint after which it reads; the boundary where the ledger knows all of it."""
    story.opens().draws_the_ledger().proposes()

    unknown = told(story, "backfill_coming").backfill
    rows = tuple(row.model_copy(update={"event_from": SINCE, "event_until": UNTIL}) for row in orders.ledger().rows)
    story.draws_the_ledger(orders.ledger().model_copy(update={"rows": rows[:-1]}))
    in_part = told(story, "backfill_coming").backfill
    story.draws_the_ledger(orders.ledger().model_copy(update={"rows": rows}))
    known = told(story, "backfill_coming").backfill

    assert unknown is not None
    assert in_part is not None
    assert (in_part.since, in_part.until) == (None, None)
    assert known is not None
    assert (unknown.since, unknown.until, unknown.rows, unknown.after_checkpoint) == (None, None, 300, 10)
    assert (known.since, known.until, known.progress) == (SINCE, UNTIL, "waits")


def test_a_backfill_that_somebody_made_is_there_already(story: Story, templates: Mapping[str, NoticeTemplate]) -> None:
    """What evidence found among the commits is no plan of ours."""
    found = BackfillFinding(commits=(orders.HEAD,), rows=70, event_from=SINCE, event_until=UNTIL, overlapping=0)
    story.opens().answers("backfill_boundary", finding=found)

    facts = told(story, "backfill_coming")

    assert facts.backfill is not None
    assert (facts.backfill.progress, facts.backfill.rows) == ("seen", 70)
    assert "rows were written again" in render(templates["backfill_coming"], facts)


def test_snapshot_ids_are_written_as_text_and_read_as_before() -> None:
    """A JSON number above 2^53 is rounded by JavaScript; records of earlier versions hold such numbers."""
    data = NoticeData(stage="proven", affected_snapshots=(orders.HEAD,), trusted_snapshot=orders.GOOD)

    written = json.loads(data.model_dump_json())

    assert ([str(orders.HEAD)], str(orders.GOOD)) == (written["affected_snapshots"], written["trusted_snapshot"])
    assert data == NoticeData.model_validate_json(json.dumps(written))
    assert data == NoticeData.model_validate_json(
        json.dumps({**written, "affected_snapshots": [orders.HEAD], "trusted_snapshot": orders.GOOD})
    )


def test_a_notice_keeps_its_ids_through_the_journal(story: Story) -> None:
    """What is sent later is read from there."""
    data = NoticeData(stage="proven", affected_snapshots=(orders.HEAD,))
    notice = Notice(kind="update", revision=1, consumer="revenue_daily", channel=CHANNEL, text="*A*", data=data)

    story.opens().says(NoticeQueued(notice=notice))

    [view] = story.incident.notices.values()
    assert notice == view.notice
