"""What notices announce of a recovery, a changed contract and a review, out of incidents as the journal tells them.

What revenue_daily would be told of a story now, while the table is as it was when the incident opened.
"""

import json
from collections.abc import Mapping

import pytest

from bot.domain.contract import TableContract
from bot.domain.entries import Finding, FindingSettled, NoticeEnded, NoticeQueued, ReviewOpened
from bot.domain.looked import Seen
from bot.domain.notice import Notice, NoticeData
from bot.domain.reads import Consumer, FarRead, ReadRun
from bot.notices import NoticeFacts, NoticeTemplate, facts_for, render
from tests import orders_table as orders
from tests.decisions import ANA, BEN, CHANNEL, EVE, PROPOSAL
from tests.incidents import Story

WORDS = "Tonight, because rows of this morning are missing."


def told(story: Story, kind: str, contract: TableContract | None = None) -> NoticeFacts:
    """The facts of this kind of notice; nobody was seen reading. `contract`: another one than the table's."""
    reads: Seen[ReadRun] = Seen(source="lineage events", values=())
    far: Seen[FarRead] = Seen(source="lineage events", values=())
    return facts_for(
        story.incident, Consumer(name="revenue_daily", channel="C0REVENUE1"), orders.table_state(), reads, far,
        kind=kind, contract=contract or orders.contract(), now=orders.NINE, next_update_minutes=30, words=WORDS,
    )  # fmt: skip


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
    """With its title, as its approvers read it, and its state."""
    story.opens().proposes()
    proposed = told(story, "update").proposal
    story.approves().rewinds()
    applied = told(story, "update").proposal

    assert proposed.state == "proposed"
    assert proposed.title == story.incident.proposals[PROPOSAL].proposal.title
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
