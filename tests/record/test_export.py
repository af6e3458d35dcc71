"""The exported record: complete, self-contained, and safe to open."""

import re
from datetime import timedelta
from html.parser import HTMLParser

import pytest

from bot.domain.entries import (
    EvidenceRequested,
    ExecutionStarted,
    NoteAdded,
    NoticeEnded,
    NoticeQueued,
    ProposalEnded,
)
from bot.domain.evidence import Verdict
from bot.domain.flink import CheckpointKind
from bot.domain.ids import CheckpointId, EvidenceId
from bot.domain.ledger import Ledger, SkippedCheckpoint, SkipReason
from bot.domain.notice import Notice
from bot.service.record import Records
from tests import orders_table as orders
from tests.decisions import ANA, BEN, CHANNEL, EVE, PROPOSAL
from tests.incidents import Story

FORMATS = ("markdown", "html")
NAMES: dict[str, str] = {ANA: "Ana", BEN: "Ben"}
VOID = {"meta", "br", "hr", "img", "input", "link"}


class _Nesting(HTMLParser):
    """Raises when an element is closed that is not the innermost open one."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def _written(records: Records, story: Story, form: str) -> str:
    write = {"markdown": records.markdown, "html": records.html}[form]
    return write(story.incident, names=NAMES)


@pytest.mark.parametrize("form", FORMATS)
def test_a_whole_incident_is_told_completely(story: Story, records: Records, form: str) -> None:
    """Window, evidence, diagnosis, decision, execution, proof, notices, review and chain are all there."""
    story.whole()

    text = _written(records, story, form)

    proposal = story.incident.proposals[PROPOSAL].proposal
    for said in (
        "Consumers see rows twice",
        "Revenue is too high since 09:00.",
        "220 order ids live more than once.",
        "4711",
        "the job was restored from an older savepoint",
        "Only one run is alive.",
        "The positions of the source.",
        "Spark lost its executor.",
        "Stop run b92e04.",
        "is still listed by the table.",
        "Move main back to the tag wl-1-left",
        proposal.digest,
        "Moved main by one commit.",
        "Checkpoint 11 stands on",
        "Lineage could not be asked.",
        "revenue_daily: recovered",
        "1730624520.000100",
        "Savepoint 6 had no pair.",
        "Start only from stop-savepoints.",
        "Verified and told.",
        "47.1 KiB",
        orders.METADATA_LOCATION,
    ):
        assert said in text, said
    for _, snapshot, _, _ in orders.COMMITS:
        assert str(snapshot) in text
    for entry in story.incident.entries:
        assert entry.hash in text


@pytest.mark.parametrize("form", FORMATS)
def test_every_state_of_an_incident_can_be_exported(story: Story, records: Records, form: str) -> None:
    """From the first entry on there is a document, and each says more than the one before."""
    lengths = []
    for step in (
        story.opens, story.answers, story.draws_the_ledger, story.fails, story.diagnoses, story.proposes,
        story.approves, story.rewinds, story.verifies, story.notifies, story.reviews, story.closes,
    ):  # fmt: skip
        step()
        lengths.append(len(_written(records, story, form)))

    assert lengths == sorted(set(lengths))


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_missing_is_said(story: Story, records: Records, form: str) -> None:
    """An incident that was only opened claims nothing."""
    story.opens(summary="", trusted=None)

    text = _written(records, story, form)

    for said in (
        "still open", "No ledger was drawn.", "No evidence was collected.", "No diagnosis was made.",
        "Nothing was proposed.", "Nobody was told anything.", "The review was not opened.",
        "no snapshot is trusted", "Nothing was written down",
    ):  # fmt: skip
        assert said in text, said


@pytest.mark.parametrize("form", FORMATS)
def test_an_interrupted_execution_is_told_as_such(story: Story, records: Records, form: str) -> None:
    """A begun effect without an end is not told as done."""
    story.opens().proposes().approves().says(ExecutionStarted(proposal=PROPOSAL), by=BEN)

    text = _written(records, story, form)

    assert "not begun" in text
    assert "Stopped with a savepoint." not in text


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("how", ["rejected", "expired", "superseded"])
def test_a_proposal_that_was_not_carried_out_says_why(story: Story, records: Records, form: str, how: str) -> None:
    """Who ended it, and for what reason."""
    story.opens().proposes()
    story.says(
        ProposalEnded.model_validate({"proposal": PROPOSAL, "how": how, "reason": "A backfill is running."}), by=BEN
    )

    text = _written(records, story, form)

    assert "A backfill is running." in text
    assert f"Ben ({how})" in text
    assert "Nobody approved it." in text


@pytest.mark.parametrize("form", FORMATS)
def test_people_are_shown_by_name(story: Story, records: Records, form: str) -> None:
    """Slack's ids are replaced where a name is known, mentions in texts included."""
    story.opens().says(NoteAdded(text="Asked <@U0BEN00001> and <@U0EVE00001>."), by=ANA)

    text = _written(records, story, form)

    assert "Asked Ben and U0EVE00001." in text
    assert ANA not in text


def test_html_is_one_well_formed_file_that_asks_for_nothing(story: Story, records: Records) -> None:
    """No script, no foreign address, every element closed in its turn: it opens the same in ten years."""
    page = _Nesting()
    incident = story.whole().incident

    page.feed(records.html(incident, lines=story.journal.lines(incident.id)))

    assert page.open == []
    tags = {tag for tag, _ in page.seen}
    assert not tags & {"script", "img", "link", "iframe", "object", "form"}
    addresses = [value for _, attributes in page.seen for name, value in attributes.items() if name in ("href", "src")]
    assert addresses
    assert all(address and address.startswith("#") for address in addresses)
    named = {attributes.get("id") for _, attributes in page.seen}
    assert {address.removeprefix("#") for address in addresses if address} <= named


def test_text_from_outside_cannot_become_markup(story: Story, records: Records) -> None:
    """Summaries, samples, notices and notes are shown as they were written."""
    evil = "<script>alert('x')</script>"
    story.opens(summary=evil).answers(headline=evil, columns=(evil,), rows=((evil,),))
    story.says(NoteAdded(text=evil), by=evil).notifies(consumer=evil).closes()

    html, markdown = records.html(story.incident), records.markdown(story.incident)

    assert "<script" not in html
    assert html.count("&lt;script&gt;") >= 6
    assert "<script" not in markdown


@pytest.mark.parametrize("form", FORMATS)
def test_a_notice_is_shown_as_its_reader_saw_it(story: Story, records: Records, form: str) -> None:
    """Not as Slack's markup: bold is bold, people and the channel have names, and what others wrote is escaped once."""
    text = "*sales.orders is under review.*\nEnds &lt;today&gt; &amp; not before. [l](http://x)\n• Wait.\n"
    text += f"Questions: <#{CHANNEL}>; <@{ANA}> is responding, and <@{EVE}>."
    queued = NoticeQueued(notice=Notice(kind="update", revision=1, consumer="c", channel="C0REVENUE1", text=text))

    told = _written(records, story.opens().says(queued), form)

    assert ("<strong>sales" if form == "html" else "> **sales") in told
    assert "Ends &lt;today&gt; &amp; not before." in told
    assert ("<li>Wait.</li>" if form == "html" else "> - Wait.") in told
    assert f"Questions: the incident's channel; Ana is responding, and {EVE}." in told
    assert '<a href="http' not in told
    assert ("[l](http://x)" if form == "html" else "\\[l\\](http://x)") in told


def test_a_cell_cannot_break_a_markdown_table(story: Story, records: Records) -> None:
    """A bar or a line break in a sample stays inside its cell."""
    story.opens().answers(columns=("note",), rows=(("a|b\nc",),))

    assert "| a\\|b c |" in records.markdown(story.incident)


def test_the_picture_draws_the_waterline_between_good_and_wrong(story: Story, records: Records) -> None:
    """Nine marks in two lanes; the three of run B are hollow once they were taken back, and above the line."""
    story.opens().draws_the_ledger()
    before = records.html(story.incident)
    story.proposes().approves().rewinds().verifies()

    after = records.html(story.incident)

    shapes = re.findall(r'<polygon class="lane-(\d)( hollow)?" points="[\d.]+,([\d.]+)', after)[::-1]
    [line] = re.findall(r'class="waterline"[^>]* y1="([\d.]+)"', after)
    assert [lane for lane, _, _ in shapes] == ["0"] * 6 + ["1"] * 3
    assert [bool(hollow) for _, hollow, _ in shapes] == [False] * 6 + [True] * 3
    assert [float(y) < float(line) for _, _, y in shapes] == [False] * 6 + [True] * 3
    assert " hollow" not in before
    assert "waterline at opening …377421" in after
    assert "waterline …377421" in before


@pytest.mark.parametrize("form", FORMATS)
def test_checkpoints_without_a_commit_are_told_with_their_reason(story: Story, records: Records, form: str) -> None:
    """Those between two commits beside the later one, those after the last by themselves."""
    told = orders.ledger()
    leaked = SkippedCheckpoint(
        first=CheckpointId(6), last=CheckpointId(7), reason=SkipReason.LEAKED, detail="its manifest is there",
        job_id=orders.RUN_B,
    )  # fmt: skip
    refused = leaked.model_copy(update={"first": 12, "last": 12, "reason": SkipReason.SKIPPED})
    rows = (*told.rows[:-1], told.rows[-1].model_copy(update={"skipped": (leaked,)}))

    story.opens().draws_the_ledger(Ledger(rows=rows, readers_known=True, trailing=(refused,)))
    text = _written(records, story, form)

    assert "6–7 leaked" in text
    assert re.search(r"b92e04.*12.*skipped.*its manifest is there", text)


@pytest.mark.parametrize("form", FORMATS)
def test_the_ledger_says_by_what_each_commit_was_written(story: Story, records: Records, form: str) -> None:
    """Attempt, subtasks, operator, delete files, positions, schema, spec, code and parent, in every format."""
    told = orders.ledger()
    row = told.rows[-1].model_copy(
        update={
            "attempts": (3, 4), "subtasks": (5, 6), "added_delete_files": 17, "position_from": 1200,
            "position_until": 1299, "schema_id": 31, "spec_ids": (41,), "code_version": "5e7c0de",
            "operation": "overwrite", "checkpoint_kind": CheckpointKind.SAVEPOINT,
        }
    )  # fmt: skip

    story.opens().draws_the_ledger(told.model_copy(update={"rows": (*told.rows[:-1], row)}))
    text = _written(records, story, form)

    [line] = [line for line in text.splitlines() if f"{orders.HEAD}" in line and "5e7c0de" in line]
    for said in (
        "3, 4", "5, 6", orders.OPERATOR, "+17", "1200–1299", "31", "41", str(row.parent_id), "overwrite", "savepoint",
    ):  # fmt: skip
        assert said in line, said


@pytest.mark.parametrize("form", FORMATS)
def test_readers_that_nobody_could_ask_for_are_unknown(story: Story, records: Records, form: str) -> None:
    """Not nobody: in the row itself."""
    story.opens().draws_the_ledger(orders.ledger(readers_known=False))

    lines = [each for each in _written(records, story, form).splitlines() if "+100" in each]
    assert len(orders.COMMITS) == sum("unknown" in line for line in lines)


@pytest.mark.parametrize("form", FORMATS)
def test_times_of_the_record_carry_their_day_where_not_all_are_of_one(
    story: Story, records: Records, form: str
) -> None:
    """A commit of last night, and word that arrived on another day than it was queued."""
    told = orders.ledger()
    night = told.rows[0].model_copy(update={"committed_at": orders.NINE - timedelta(hours=10)})

    story.opens().draws_the_ledger(told)
    before = _written(records, story, form)
    story.draws_the_ledger(told.model_copy(update={"rows": (night, *told.rows[1:])}))
    story.notifies()
    story.now += timedelta(days=1)
    queued = next(reversed(story.incident.notices.values()))
    story.says(NoticeEnded.model_validate({"key": queued.notice.key(story.id), "how": "delivered", "detail": "again"}))
    after = _written(records, story, form)

    assert "2026-11-02" not in before
    assert "2026-11-02 23:00:00" in after
    assert "2026-11-03 08:50:00" in after
    assert re.search(r"delivered at 4 Nov, [\d:]+ UTC \(again\)", after)


def test_evidence_that_could_not_look_names_the_source(story: Story, records: Records) -> None:
    """Inconclusive is shown with what was not seen and what to do."""
    story.opens().answers(verdict=Verdict.INCONCLUSIVE, headline="Flink could not be asked.")

    assert "Could not look at Flink REST: Flink REST refused the connection." in records.markdown(story.incident)


def test_a_running_task_is_not_told_as_failed(story: Story, records: Records) -> None:
    """Asked for, no answer yet."""
    story.opens().says(EvidenceRequested(run=EvidenceId("r"), task="ledger", step=None), by=ANA)

    assert "has no answer: it was still running." in records.markdown(story.incident)
