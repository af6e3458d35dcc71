"""The record is exported, checked, and read as sentences."""

import json
import re
from collections.abc import Sequence
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import get_args

import pytest
from typer.testing import CliRunner

from bot.cli import app
from bot.history.case import PlannedChange
from bot.incident import entries as e
from bot.incident.approval import ApprovalPolicy
from bot.incident.exported_record import seal_of
from bot.incident.notice import Notice, ObservedReader
from bot.observation.errors import BadConfiguration
from bot.observation.evidence import Verdict
from bot.observation.flink import CheckpointKind
from bot.observation.ids import CheckpointId, EvidenceId
from bot.observation.ledger import Ledger, SkippedCheckpoint, SkipReason
from bot.service.record import Records
from bot.service.timeline import sentence
from tests import orders_table as orders
from tests.decisions import ANA, BEN, CHANNEL, EVE, PROPOSAL
from tests.incidents import Story

FORMATS = ("markdown", "html")
NAMES: dict[str, str] = {ANA: "Ana", BEN: "Ben"}
VOID = {"meta", "br", "hr", "img", "input", "link"}


class Nesting(HTMLParser):
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


def written(records: Records, story: Story, form: str, **more: Sequence[str]) -> str:
    """In this format, with names in place of ids."""
    write = {"markdown": records.markdown, "html": records.html, "json": records.json}[form]
    return write(story.incident, names=NAMES, **more)


@pytest.mark.parametrize("form", FORMATS)
def test_a_whole_incident_is_told_completely(story: Story, records: Records, form: str) -> None:
    """Window, evidence, diagnosis, decision, execution, proof, notices, review and chain are all there."""
    story.whole()

    text = written(records, story, form)

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
        "The table still lists",
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


def test_what_was_decided_comes_first_and_its_evidence_is_folded(story: Story, records: Records) -> None:
    """A record is read in minutes, and still holds everything: Markdown and HTML fold the same."""
    story.whole()

    text, page = (written(records, story, form) for form in ("markdown", "html"))

    folded = re.compile(r"<details>.*?</details>", re.DOTALL)
    titles = ["Diagnosis", "Proposals", "Contract review", "Notices", "Ledger", "Evidence", "Timeline"]
    assert ["Summary", *titles, "Chain of entries"] == re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert [*titles, "Chain of entries"] == re.findall(r"<h2>(.+)</h2>", page)
    for shown in (text, page):
        left = folded.sub("", shown)
        assert "Stop run b92e04." in left
        assert not any(said in left for said in ("Pinned to ", "Spark lost its executor."))
        assert shown.count("<details>") == shown.count("</details>")


@pytest.mark.parametrize("form", FORMATS)
def test_every_state_of_an_incident_can_be_exported(story: Story, records: Records, form: str) -> None:
    """From the first entry on there is a document, and each says more than the one before."""
    lengths = []
    for step in (
        story.opens, story.answers, story.draws_the_ledger, story.fails, story.diagnoses, story.proposes,
        story.approves, story.rewinds, story.verifies, story.notifies, story.reviews, story.closes,
    ):  # fmt: skip
        step()
        lengths.append(len(written(records, story, form)))

    assert lengths == sorted(set(lengths))


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_missing_is_said(story: Story, records: Records, form: str) -> None:
    """An incident that was only opened claims nothing."""
    story.opens(summary="", trusted=None)

    text = written(records, story, form)

    for said in (
        "still open", "No ledger was drawn.", "No evidence was collected.", "No diagnosis was made.",
        "Nothing was proposed.", "Nobody was notified.", "The review was not opened.",
        "no snapshot is trusted", "Nothing was written down",
    ):  # fmt: skip
        assert said in text, said


@pytest.mark.parametrize("form", FORMATS)
def test_an_interrupted_execution_is_told_as_such(story: Story, records: Records, form: str) -> None:
    """A begun effect without an end is not told as done."""
    story.opens().proposes().approves().says(e.ExecutionStarted(proposal=PROPOSAL), by=BEN)

    text = written(records, story, form)

    assert "not started" in text
    assert "Stopped with a savepoint." not in text


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("how", ["rejected", "expired", "superseded"])
def test_a_proposal_that_was_not_carried_out_says_why(story: Story, records: Records, form: str, how: str) -> None:
    """Who ended it, and for what reason."""
    story.opens().proposes()
    story.says(
        e.ProposalEnded.model_validate({"proposal": PROPOSAL, "how": how, "reason": "A backfill is running."}), by=BEN
    )

    text = written(records, story, form)

    assert "A backfill is running." in text
    assert f"Ben ({how})" in text
    assert "Nobody approved it." in text


def test_evidence_that_could_not_look_names_the_source(story: Story, records: Records) -> None:
    """Inconclusive is shown with what was not seen and what to do."""
    story.opens().answers(verdict=Verdict.INCONCLUSIVE, headline="Flink could not be asked.")

    assert "Could not look at Flink REST: Flink REST refused the connection." in records.markdown(story.incident)


def test_a_running_task_is_not_told_as_failed(story: Story, records: Records) -> None:
    """Asked for, no answer yet."""
    story.opens().says(e.EvidenceRequested(run=EvidenceId("r"), task="ledger", step=None), by=ANA)

    assert "has no answer: it was still running." in records.markdown(story.incident)


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
    text = written(records, story, form)

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
    text = written(records, story, form)

    [line] = [line for line in text.splitlines() if f"{orders.HEAD}" in line and "5e7c0de" in line]
    for said in (
        "3, 4", "5, 6", orders.OPERATOR, "+17", "1200–1299", "31", "41", str(row.parent_id), "overwrite", "savepoint",
    ):  # fmt: skip
        assert said in line, said


@pytest.mark.parametrize("form", FORMATS)
def test_readers_that_nobody_could_ask_for_are_unknown(story: Story, records: Records, form: str) -> None:
    """Not nobody: in the row itself."""
    story.opens().draws_the_ledger(orders.ledger(readers_known=False))

    lines = [each for each in written(records, story, form).splitlines() if "+100" in each]
    assert len(orders.COMMITS) == sum("unknown" in line for line in lines)


@pytest.mark.parametrize("form", FORMATS)
def test_times_of_the_record_carry_their_day_where_not_all_are_of_one(
    story: Story, records: Records, form: str
) -> None:
    """A commit of last night, and word that arrived on another day than it was queued."""
    told = orders.ledger()
    night = told.rows[0].model_copy(update={"committed_at": orders.NINE - timedelta(hours=10)})

    story.opens().draws_the_ledger(told)
    before = written(records, story, form)
    story.draws_the_ledger(told.model_copy(update={"rows": (night, *told.rows[1:])}))
    story.notifies()
    story.now += timedelta(days=1)
    queued = next(reversed(story.incident.notices.values()))
    story.says(
        e.NoticeEnded.model_validate({"key": queued.notice.key(story.id), "how": "delivered", "detail": "again"})
    )
    after = written(records, story, form)

    assert "2026-11-02" not in before
    assert "2026-11-02 23:00:00" in after
    assert "2026-11-03 08:50:00" in after
    assert re.search(r"delivered at 4 Nov, [\d:]+ UTC \(again\)", after)


@pytest.mark.parametrize("form", FORMATS)
def test_people_are_shown_by_name(story: Story, records: Records, form: str) -> None:
    """Slack's ids are replaced where a name is known, mentions in texts included."""
    story.opens().says(e.NoteAdded(text="Asked <@U0BEN00001> and <@U0EVE00001>."), by=ANA)

    text = written(records, story, form)

    assert "Asked Ben and U0EVE00001." in text
    assert ANA not in text


def test_html_is_one_well_formed_file_that_asks_for_nothing(story: Story, records: Records) -> None:
    """No script, no foreign address, every element closed in its turn: it opens the same in ten years."""
    page = Nesting()
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
    story.says(e.NoteAdded(text=evil), by=evil).notifies(consumer=evil).closes()

    html, markdown = records.html(story.incident), records.markdown(story.incident)

    assert "<script" not in html
    assert html.count("&lt;script&gt;") >= 6
    assert "<script" not in markdown


@pytest.mark.parametrize(
    "evil", ["## Proposals", "[l](http://x)", "![i](http://x)", "<http://x>", "**b**", "1. a", "- a"]
)
def test_text_from_outside_is_no_markdown_in_the_page(story: Story, records: Records, evil: str) -> None:
    """The page is made from Markdown: a section, a link, a list or bold type is our own."""
    plain = records.html(
        Story(story.journal)
        .opens(summary="x")
        .answers(headline="x", columns=("note",), rows=(("x",),))
        .closes()
        .incident
    )
    story.opens(summary=evil).answers(headline=evil, columns=("note",), rows=((f"x\n\n{evil}",),)).closes()

    page = records.html(story.incident)

    assert "http://x" not in "".join(part.split(">")[0] for part in page.split("<")[1:])
    for tag in ("<h2>", "<a ", "<li>", "<strong>", "<ol>"):
        assert page.count(tag) == plain.count(tag), tag


@pytest.mark.parametrize("form", FORMATS)
def test_a_notice_is_shown_as_its_reader_saw_it(story: Story, records: Records, form: str) -> None:
    """Not as Slack's markup: bold is bold, people and the channel have names, and what others wrote is escaped once."""
    text = "*sales.orders is under review.*\nEnds &lt;today&gt; &amp; not before. [l](http://x)\n• Wait.\n"
    text += f"Questions: <#{CHANNEL}>; <@{ANA}> is responding, and <@{EVE}>."
    queued = e.NoticeQueued(notice=Notice(kind="update", revision=1, consumer="c", channel="C0REVENUE1", text=text))

    told = written(records, story.opens().says(queued), form)

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


def exported(records: Records, story: Story, form: str) -> str:
    """As the bot uploads it: names in place of ids, and every entry as it is stored."""
    return written(records, story, form, lines=story.journal.lines(story.id))


@pytest.mark.parametrize("form", [*FORMATS, "json"])
def test_an_export_is_proven_by_itself(story: Story, records: Records, form: str) -> None:
    """Every entry fits, what is shown follows from them, and the file ends with the seal that Slack has."""
    text = exported(records, story.whole(), form)

    proof = records.prove(text.replace("\n", "\r\n"))

    assert (proof.fault, proof.not_compared) == (None, None)
    assert proof.seal == seal_of(story.incident.entries[-1])


@pytest.mark.parametrize("form", [*FORMATS, "json"])
def test_a_changed_sentence_is_found(story: Story, records: Records, form: str) -> None:
    """Whoever edits what people read does not need to touch the chain, and is found nevertheless."""
    text = exported(records, story.whole(), form)
    assert "Verified and told." in text

    proof = records.prove(text.replace("Verified and told.", "Nobody told anybody."))

    assert proof.fault is not None


def test_a_changed_entry_is_named(story: Story, records: Records) -> None:
    """Its content does not give its hash; the place is said."""
    document = json.loads(exported(records, story.whole(), "json"))
    document["chain"]["entries"][3]["by"] = BEN

    proof = records.prove(json.dumps(document))

    assert proof.fault == "Entry 4 was changed: its content does not match its hash."


def test_a_cut_chain_is_named(story: Story, records: Records) -> None:
    """The last entries cannot be left out of a file that says where it ends."""
    document = json.loads(exported(records, story.whole(), "json"))
    del document["chain"]["entries"][-2:]

    assert "was written last" in (records.prove(json.dumps(document)).fault or "")


def test_a_file_of_other_templates_is_proven_as_far_as_that_goes(story: Story, records: Records) -> None:
    """Another version writes other words: its chain is proven, and it is said that the words were not compared."""
    text = exported(records, story.whole(), "json").replace(records.written_by, "9.9.9/00000000")

    proof = records.prove(text)

    assert proof.fault is None
    assert "9.9.9/00000000" in (proof.not_compared or "")


@pytest.mark.parametrize("text", ["# wl-1", "<!doctype html><p>wl-1", "{}", "# x\n<!-- waterline-record:\nAAAA\n-->"])
def test_what_is_no_record_is_refused(records: Records, text: str) -> None:
    """With what was expected, and how to get one."""
    with pytest.raises(BadConfiguration, match="xport the incident again"):
        records.prove(text)


def test_the_command_proves_files_without_a_configuration(
    story: Story, records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No database is there; a seal from Slack is held against the file; one bad file makes the exit code 1."""
    whole, other = tmp_path / "wl-1.html", tmp_path / "wl-1.md"
    whole.write_text(exported(records, story.whole(), "html"), encoding="utf-8")
    other.write_text(exported(records, story, "markdown").replace("220 order ids", "2 order ids"), encoding="utf-8")
    seal = str(seal_of(story.incident.entries[4]))
    monkeypatch.chdir(tmp_path)

    good = CliRunner().invoke(app, ["record", "verify", str(whole), "--anchor", seal])
    unlike = CliRunner().invoke(app, ["record", "verify", str(whole), "--anchor", seal[:-4] + "0000"])
    bad = CliRunner().invoke(app, ["record", "verify", str(whole), str(other)])

    assert (good.exit_code, unlike.exit_code, bad.exit_code) == (0, 1, 1)
    assert good.output.startswith("Fits whole: wl-1.html, wl-1: ")
    assert "The record up to entry 5 has changed" in unlike.output
    assert "Does not fit: wl-1.md, wl-1: Line" in bad.output


@pytest.mark.parametrize("how", ["another version", "withheld"])
def test_words_that_were_not_compared_are_no_proof(
    story: Story, records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Whoever changes a sentence can also make the file one that cannot be compared: it is neither whole nor wrong."""
    document = json.loads(exported(records, story.whole(), "json"))
    document["names"][ANA] = "Somebody else"
    if how == "withheld":
        document["chain"]["entries"][3] |= {"body": "", "withheld": True}
    else:
        document["written_by"] = "0.9/deadbeef"
    forged, broken = tmp_path / "wl-1.json", tmp_path / "broken.json"
    forged.write_text(json.dumps(document), encoding="utf-8")
    document["chain"]["entries"][2]["by"] = "U0NOBODY01"
    broken.write_text(json.dumps(document), encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    in_part = CliRunner().invoke(app, ["record", "verify", str(forged)])
    wrong = CliRunner().invoke(app, ["record", "verify", str(forged), str(broken)])

    assert (in_part.exit_code, wrong.exit_code) == (3, 1)
    assert in_part.output.startswith("Fits in part: wl-1.json, wl-1: the chain of ")
    assert "The text was not compared and proves nothing: " in in_part.output
    assert "Does not fit: broken.json" in wrong.output


PLANNED = PlannedChange(
    code="F21", what="Planned backfill", reason="Ticket 4711", by=BEN, run=None, last_good=None, newest_wrong=None,
    commits=(),
)  # fmt: skip
NOTICE = {"kind": "update", "revision": 1, "consumer": "fraud_model", "channel": "C1", "text": "Nothing new."}


def _told_by_mail(story: Story) -> tuple[e.Body, ...]:
    """What telling consumers leaves in the record beside the notice itself."""
    key = next(iter(story.incident.notices))
    to, reader = "email:revenue@acme.example", ObservedReader(consumer="ad_hoc", distance=2, runs=1, is_declared=False)
    return (
        e.DeliveryTried(key=key, to=to, number=1),
        e.DeliveryDelayed(key=key, to=to, number=1, problem="The mail server is away", again_at=orders.NINE),
        e.NoticeRetried(key=key, to=to, number=1),
        e.NoticeAnswered(key=key, answer="needs-help", text="The report stands still", asks=BEN),
        e.ReadersNoted(observed=(reader,), unknown="Lineage was down"),
        e.SeverityChanged(before="sev2", severity="sev1", reason="Finance reports from it"),
        e.NoticesHeld(name="9f31", policy=ApprovalPolicy(users=(BEN,)), step=None),
        e.LateRunsSeen(consumer="revenue_daily", runs=("late",), asks=BEN),
        e.CorrectionDeclined(consumers=("revenue_daily",), reason="It was a test"),
    )


def test_every_kind_of_entry_has_a_sentence(story: Story) -> None:
    """A whole incident leaves no entry without words, and each ends like a sentence."""
    story.whole().breaks_the_glass("Revenue pays out at four.").says(
        e.ApprovalReminded(proposal=PROPOSAL, number=2),
        e.VetoTimeEnded(proposal=PROPOSAL),
        e.OutcomeSettled(proposal=PROPOSAL, index=0, happened=True, reason="No process runs", by=BEN, at=orders.NINE),
        e.FindingAssigned(contract="state", term="Restores pair.", owner=BEN, due=orders.NINE),
        e.FindingSettled(contract="state", term="Restores pair.", how="fixed", reason="Only stop-savepoints now"),
        e.SavepointPlanned(reason="New pricing", code_before="1", code_after="2", until=orders.NINE),
        e.SavepointReleasing(proposal=PROPOSAL, tag="savepoint-5-20261103", snapshot="4711"),
        e.SavepointReleased(proposal=PROPOSAL, tag="savepoint-5-20261103", snapshot="4711", how="removed"),
        e.MaintenanceMarked(status="unfrozen", sentence="Maintenance of sales.orders may run again"),
        e.EvidenceRunAgain(run=next(iter(story.incident.runs)), message="Spark went away."),
        e.EvidenceStopped(stopped=True),
        e.RunbookChanged(runbook=story.incident.runbook),
        e.DiagnosisRequested(),
        e.VerificationRequested(proposal=PROPOSAL),
        e.DiagnosisEnded(how="failed", message="Flink did not answer"),
        e.PlanDeclared(planned=PLANNED),
        e.PlanWithdrawn(code="F21", reason="It was another table"),
        e.NoticesPreviewed(name="9f31", notices=(Notice.model_validate(NOTICE),)),
        e.PromiseReminded(what="review", due=orders.NINE, moment=orders.NINE, people=(BEN,), terms=("Restores pair.",)),
        e.ResponderAssigned(user=BEN, note="the savepoint of 14:00 is the good one"),
        *_told_by_mail(story),
    )

    told = {entry.body.kind: sentence(entry) for entry in story.incident.entries}

    kinds = {kind.model_fields["kind"].default for kind in get_args(get_args(e.Body)[0])}
    assert kinds - set(told) == {"note-added", "step-done", "step-skipped", "proposal-ended"}
    assert all(text[0].isupper() or text.startswith("<@") for text in told.values())
    assert all(text.endswith((".", "!", "?")) for text in told.values()), told
