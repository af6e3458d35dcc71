"""What is known for a notice is gathered, and announced, corrected or taken back."""

import html
import json
from collections.abc import Mapping
from datetime import timedelta
from typing import get_args

import pytest

from bot.incident.entries import Finding, FindingSettled, NoticeEnded, NoticeQueued, ReviewOpened
from bot.incident.notice import ALL_CLEAR, BESIDE, Notice, NoticeData
from bot.incident.trust import pins_for
from bot.notices import NoticeFacts, NoticeTemplate, data_of, facts_for, render
from bot.notices.reading import NotObserved, ReadAbove, ReadersUnknown
from bot.observation.evidence import Verdict
from bot.observation.findings import DuplicatesFinding
from bot.observation.ids import SnapshotId, TableName
from bot.observation.looked import NotSeen, Seen
from bot.observation.readers import Consumer, Engine, FarRead, ReadRun
from bot.observation.table import HeadMove, TableState
from tests import orders_table as orders
from tests.decisions import ANA, BEN, CHANNEL, EVE, HEAD_AFTER, PROPOSAL
from tests.incidents import Story
from tests.published import table_rewound

NOBODY_FAR: Seen[FarRead] = Seen(source="lineage events", values=())
WORDS = "Tonight, because rows of this morning are missing."
REVENUE = Consumer(name="revenue_daily", channel="C0REVENUE1", owner="team revenue")


def _read(
    snapshot: int | None, *, consumer: str = "revenue_daily", run: str = "run-1", minutes: int = 0, engine: str = ""
) -> ReadRun:
    at, of = orders.NINE + timedelta(minutes=minutes), None if snapshot is None else SnapshotId(snapshot)
    return ReadRun(consumer=consumer, run_id=run, at=at, snapshot_id=of, engine=engine)


def _facts(
    story: Story,
    *reads: ReadRun,
    table: TableState | None = None,
    kind: str = "update",
    engine: Engine | None = None,
    down: NotSeen | None = None,
) -> NoticeFacts:
    """What revenue_daily, which reads with this engine, is told; these reads were seen, unless lineage is `down`."""
    return facts_for(
        story.incident, REVENUE.model_copy(update={"engine": engine}), table or orders.table_state(),
        down or Seen[ReadRun](source="lineage events", values=reads), down or NOBODY_FAR,
        kind=kind, contract=orders.contract(), now=orders.NINE, next_update_minutes=30, words=WORDS,
    )  # fmt: skip


def test_everything_above_the_waterline_is_affected(story: Story) -> None:
    """Run B's three commits are under review; run A's are not."""
    story.opens()

    facts = _facts(story)

    assert facts.affected.snapshots == tuple(snapshot for _, snapshot, run, _ in orders.COMMITS if run == orders.RUN_B)
    assert (facts.affected.rows, facts.affected.taken_back) == (300, False)
    assert facts.affected.first_at == orders.NINE - timedelta(minutes=4)
    assert facts.affected.last_at == orders.NINE - timedelta(minutes=2)


def test_the_trusted_snapshot_says_whether_the_tag_stands_on_it(story: Story) -> None:
    """Pinning by tag is offered only where the tag is."""
    story.opens()
    untagged = orders.table_state().model_copy(update={"refs": ()})

    tagged, plain = _facts(story).trusted, _facts(story, table=untagged).trusted

    assert (tagged.snapshot_id, tagged.checkpoint_id, tagged.by_tag) == (orders.GOOD, 10, True)
    assert (plain.snapshot_id, plain.by_tag) == (orders.GOOD, False)


@pytest.mark.parametrize("name", ["sales.orders", "sales.order-lines", "it's.*_all_*"])
def test_an_engine_is_shown_how_to_read_it_as_the_trust_page_does(
    story: Story, templates: Mapping[str, NoticeTemplate], name: str
) -> None:
    """To the letter: what is copied is run, so that no character may be made harmless."""
    story.opens()
    table = orders.table_state().model_copy(update={"name": TableName(name)})

    pins = pins_for(table, orders.GOOD)
    for engine in get_args(Engine):
        text = html.unescape(render(templates["warning"], _facts(story, table=table, engine=engine)))
        marked = {pin.engine: "#" if pin.engine == "PyIceberg" else "--" for pin in pins}
        shown = [p.engine for p in pins if f"\n{p.following or p.exact}  {marked[p.engine]} {p.engine}\n" in text]
        assert shown == [engine]


@pytest.mark.parametrize(
    ("engine", "seen", "shown"),
    [
        ("Flink", ("spark",), ["Flink"]),
        (None, ("flink", "TRINO", ""), ["Trino"]),
        (None, ("", "dataflow"), ["Spark", "Trino"]),
        (None, (), ["Spark", "Trino"]),
    ],
)
def test_a_consumer_is_shown_its_own_engine(
    story: Story,
    templates: Mapping[str, NoticeTemplate],
    engine: Engine | None,
    seen: tuple[str, ...],
    shown: list[str],
) -> None:
    """As the settings say, else as its newest run that lineage names it of; else the two most usual, which is said."""
    story.opens()
    runs = [_read(orders.HEAD, run=f"r{n}", minutes=n, engine=each) for n, each in enumerate(seen)]
    theirs = _read(orders.HEAD, consumer="fraud_model", run="x", minutes=9, engine="duckdb")

    facts = _facts(story, *runs, theirs, engine=engine)
    text = render(templates["warning"], facts)

    assert [pin.engine for pin in facts.trusted.pins] == shown
    assert ("For other engines" in text) is (len(shown) == 2)


def test_what_the_metadata_does_not_list_any_more_is_not_offered(
    story: Story, templates: Mapping[str, NoticeTemplate]
) -> None:
    """An expired snapshot cannot be read."""
    story.opens()
    state = orders.table_state()
    kept = tuple(s for s in state.snapshots if s.snapshot_id != orders.GOOD)

    facts = _facts(story, table=state.model_copy(update={"snapshots": kept}))
    text = render(templates["warning"], facts)

    assert "VERSION AS OF" not in text
    assert "You are safe" not in text
    assert "nobody can read it" in text
    assert data_of(facts, "warning").trusted_snapshot is None


def test_without_a_trusted_snapshot_nothing_is_offered(story: Story) -> None:
    """A consumer is not sent to a snapshot that nobody has found good."""
    story.opens(trusted=None)

    assert _facts(story).trusted is None


def test_a_run_that_read_above_the_waterline_is_named(story: Story) -> None:
    """Each affected run once, oldest first; runs below the waterline and of others are not this consumer's."""
    story.opens()

    facts = _facts(
        story,
        _read(orders.HEAD, run="late", minutes=5),
        _read(orders.HEAD, run="early", minutes=1),
        _read(orders.HEAD, run="early", minutes=2),
        _read(orders.GOOD, run="below"),
        _read(orders.HEAD, consumer="somebody_else", run="theirs"),
    )

    assert isinstance(facts.reading, ReadAbove)
    assert [run.run_id for run in facts.reading.runs] == ["early", "late"]


def test_no_run_above_is_said_only_after_looking(story: Story) -> None:
    """Lineage answered: this consumer's runs stayed below."""
    story.opens()

    facts = _facts(story, _read(orders.GOOD, run="a"), _read(orders.GOOD, run="b"))

    assert facts.reading == NotObserved(runs_seen=2)


def test_lineage_that_is_down_is_not_nobody(story: Story) -> None:
    """Could not look is told as such, with source and reason."""
    story.opens()

    facts = _facts(story, down=orders.not_seen("lineage events"))

    assert facts.reading == ReadersUnknown(source="lineage events", reason="lineage events refused the connection.")


def test_a_run_that_does_not_name_its_snapshot_leaves_it_open(story: Story) -> None:
    """Such a run may have read above the waterline."""
    story.opens()

    facts = _facts(story, _read(None, run="nameless"))

    assert isinstance(facts.reading, ReadersUnknown)
    assert "nameless" in facts.reading.reason


def test_a_nameless_run_before_the_first_affected_commit_changes_nothing(story: Story) -> None:
    """It cannot have read what was not there yet."""
    story.opens()

    assert _facts(story, _read(None, run="nameless", minutes=-60)).reading == NotObserved(runs_seen=1)


def test_after_the_rewind_only_what_was_taken_back_is_affected(story: Story) -> None:
    """New commits on the proven table are not under review; who read the old ones is told so."""
    story.opens().proposes().approves().rewinds().verifies()

    facts = _facts(story, _read(orders.HEAD, run="wrong"), _read(HEAD_AFTER, run="right"), table=table_rewound())

    assert facts.affected.taken_back
    assert facts.affected.snapshots == tuple(snapshot for _, snapshot, run, _ in orders.COMMITS if run == orders.RUN_B)
    assert isinstance(facts.reading, ReadAbove)
    assert [run.run_id for run in facts.reading.runs] == ["wrong"]
    assert facts.proofs == ("next commit", "no duplicates")
    assert facts.stage == "proven"


def test_an_older_rollback_is_not_this_incident(story: Story) -> None:
    """Commits that were rolled back before the window began do not count as affected."""
    story.opens()
    state = orders.table_state()
    older = state.snapshots[2].model_copy(update={"snapshot_id": SnapshotId(77), "sequence_number": 3})
    table = state.model_copy(
        update={
            "snapshots": (*state.snapshots, older),
            "head_moves": (HeadMove(at=orders.NINE, snapshot_id=SnapshotId(77)), *state.head_moves),
        }
    )

    facts = _facts(story, table=table)

    assert SnapshotId(77) not in facts.affected.snapshots


def test_the_damage_is_what_was_confirmed_not_what_is_left(story: Story) -> None:
    """After the repair the newest evidence counts nothing; consumers are told what there was."""
    found = DuplicatesFinding(rows_checked=900, keys=200, extra_rows=220, pairs=())
    story.opens().answers(finding=found)
    clean = found.model_copy(update={"keys": 0, "extra_rows": 0})

    story.answers(verdict=Verdict.RULED_OUT, headline="Every order id lives once.", finding=clean)

    assert _facts(story).damage.extra_rows == 220


def test_the_stage_follows_the_incident(story: Story) -> None:
    """From collecting evidence to the proof, each stage has its own word."""
    stages = []
    for step in (story.opens, story.diagnoses, story.proposes, story.approves, story.rewinds, story.verifies):
        step()
        stages.append(_facts(story).stage)

    assert stages == ["investigating", "diagnosed", "proposed", "proposed", "verifying", "proven"]


def test_the_next_word_is_promised_while_the_incident_is_open(story: Story) -> None:
    """Nothing is promised that nobody will keep."""
    story.opens()

    while_open = _facts(story)
    story.closes()

    assert while_open.next_word_at == orders.NINE + timedelta(minutes=30)
    assert (while_open.channel, while_open.responder, while_open.owner) == (CHANNEL, ANA, "team revenue")
    assert _facts(story).next_word_at is None


@pytest.mark.parametrize("kind", sorted(ALL_CLEAR | BESIDE))
def test_the_last_notice_promises_no_further_one(story: Story, kind: str) -> None:
    """Neither people nor programs wait for a word that the timers do not remind anybody of."""
    story.opens()

    assert _facts(story, kind=kind).next_word_at is None


TABLE_TERM = Finding(
    contract="table", term="One row per key (order_id).", observed="At 09:12 UTC: 200 keys live more than once.",
    holds=False, action="Write with upsert on this key.", owner=ANA,
)  # fmt: skip
INNER = (
    Finding(
        contract="state", term="Restores start from a point that pairs.",
        observed="s3://secret-state/savepoints/savepoint-6 has no pair.", holds=False, action="Start from 10."
    ),
    Finding(
        contract="approval", term="Each change was approved as the table's policy requires.",
        observed=f"<@{EVE}> approved alone at 09:01 UTC: Ben was ill.", holds=False, action=f"Let <@{BEN}> judge."
    ),
    Finding(contract="checkpoint", term="Checkpoints come.", observed="hdfs://inner/chk-7.", holds=None, action=""),
)  # fmt: skip


def test_the_newest_recovery_that_is_not_over_is_the_proposed_one(story: Story) -> None:
    """With its title, as its approvers read it, and its state."""
    story.opens().proposes()
    proposed = _facts(story, kind="update").proposal
    story.approves().rewinds()
    applied = _facts(story, kind="update").proposal

    assert proposed.state == "proposed"
    assert proposed.title == story.incident.proposals[PROPOSAL].proposal.title
    assert applied.state == "applied"


def test_what_the_review_found_inside_stays_inside(story: Story, templates: Mapping[str, NoticeTemplate]) -> None:
    """No people, no reasons, no places on storage: consumers read of what they were promised."""
    odd = TABLE_TERM.model_copy(update={"term": "Positions.", "observed": f"See s3://lake/x.parquet, <@{ANA}>."})
    story.opens().says(ReviewOpened(findings=(TABLE_TERM, odd, *INNER)), by=ANA)

    body = render(templates["review"], _facts(story, kind="review")).split("Questions:")[0]

    assert [w for w in ("s3:", "hdfs:", "U0", "glass", "Ben was ill", "savepoint", "Restores") if w in body] == []


def test_the_review_is_told_as_to_what_consumers_were_promised(
    story: Story, templates: Mapping[str, NoticeTemplate]
) -> None:
    """The table's own terms, with what was mended since."""
    story.opens().says(ReviewOpened(findings=(TABLE_TERM, *INNER)), by=ANA)
    before = _facts(story, kind="review").review
    settled = FindingSettled(contract="table", term=TABLE_TERM.term, how="fixed", reason="<@U0ANA00001> did it.")
    story.says(settled, by=ANA)

    facts = _facts(story, kind="review")

    assert (facts.review.looked_at, facts.review.unknown, facts.review.inner) == (1, 0, 3)
    assert [each.is_fixed for each in (*before.broken, *facts.review.broken)] == [False, True]
    text = render(templates["review"], facts)
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
    found = _facts(story, kind="correction").earlier
    return found.kind if found is not None else None


def test_a_correction_is_read_in_place_of_what_was_said_of_the_table(story: Story) -> None:
    """What came after it, and says nothing of the rows, still counts."""
    sends(story.opens(), "recovered")
    sends(story, "review")

    assert earlier(story) == "recovered"


@pytest.mark.parametrize("how", ["failed", "overtaken", None])
def test_a_correction_names_nothing_that_never_came(story: Story, how: str | None) -> None:
    """They would look for it; where nothing came at all, it names nothing."""
    sends(story.opens(), "warning", how)
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

    facts = _facts(story, kind=kind)

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
