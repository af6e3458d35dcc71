"""The exported record is complete: what happened, what did not, and what is missing."""

import pytest

from bot.domain.entries import EvidenceRequested, ExecutionStarted, ProposalEnded
from bot.domain.evidence import Verdict
from bot.domain.ids import EvidenceId
from bot.service.record import Records
from tests import orders_table as orders
from tests.decisions import ANA, BEN, PROPOSAL
from tests.incidents import Story
from tests.record.exported import FORMATS, written


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
    story.opens().proposes().approves().says(ExecutionStarted(proposal=PROPOSAL), by=BEN)

    text = written(records, story, form)

    assert "not started" in text
    assert "Stopped with a savepoint." not in text


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("how", ["rejected", "expired", "superseded"])
def test_a_proposal_that_was_not_carried_out_says_why(story: Story, records: Records, form: str, how: str) -> None:
    """Who ended it, and for what reason."""
    story.opens().proposes()
    story.says(
        ProposalEnded.model_validate({"proposal": PROPOSAL, "how": how, "reason": "A backfill is running."}), by=BEN
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
    story.opens().says(EvidenceRequested(run=EvidenceId("r"), task="ledger", step=None), by=ANA)

    assert "has no answer: it was still running." in records.markdown(story.incident)
