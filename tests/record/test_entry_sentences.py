"""What the record says of each kind of entry, and of a replay that an older version proposed."""

from typing import get_args

from bot.domain.approval import ApprovalPolicy
from bot.domain.diagnosis import PlannedChange
from bot.domain.entries import (
    ApprovalReminded,
    Body,
    CorrectionDeclined,
    DeliveryDelayed,
    DeliveryTried,
    DiagnosisEnded,
    DiagnosisRequested,
    EvidenceRunAgain,
    EvidenceStopped,
    FindingAssigned,
    FindingSettled,
    LateRunsSeen,
    MaintenanceMarked,
    NoticeAnswered,
    NoticeRetried,
    NoticesHeld,
    NoticesPreviewed,
    OutcomeSettled,
    PlanDeclared,
    PlanWithdrawn,
    PromiseReminded,
    ReadersNoted,
    ResponderAssigned,
    RunbookChanged,
    SavepointPlanned,
    SavepointReleased,
    SavepointReleasing,
    SeverityChanged,
    VerificationRequested,
    VetoTimeEnded,
)
from bot.domain.notice import Notice
from bot.domain.notice_entries import ObservedReader
from bot.domain.timeline import sentence
from tests import orders_table as orders
from tests.decisions import BEN, PROPOSAL
from tests.incidents import Story

PLANNED = PlannedChange(
    code="F21", what="Planned backfill", reason="Ticket 4711", by=BEN, run=None, last_good=None, newest_wrong=None,
    commits=(),
)  # fmt: skip
NOTICE = {"kind": "update", "revision": 1, "consumer": "fraud_model", "channel": "C1", "text": "Nothing new."}


def _told_by_mail(story: Story) -> tuple[Body, ...]:
    """What telling consumers leaves in the record beside the notice itself."""
    key = next(iter(story.incident.notices))
    to, reader = "email:revenue@acme.example", ObservedReader(consumer="ad_hoc", distance=2, runs=1, is_declared=False)
    return (
        DeliveryTried(key=key, to=to, number=1),
        DeliveryDelayed(key=key, to=to, number=1, problem="The mail server is away", again_at=orders.NINE),
        NoticeRetried(key=key, to=to, number=1),
        NoticeAnswered(key=key, answer="needs-help", text="The report stands still", asks=BEN),
        ReadersNoted(observed=(reader,), unknown="Lineage was down"),
        SeverityChanged(before="sev2", severity="sev1", reason="Finance reports from it"),
        NoticesHeld(name="9f31", policy=ApprovalPolicy(users=(BEN,)), step=None),
        LateRunsSeen(consumer="revenue_daily", runs=("late",), asks=BEN),
        CorrectionDeclined(consumers=("revenue_daily",), reason="It was a test"),
    )


def test_every_kind_of_entry_has_a_sentence(story: Story) -> None:
    """A whole incident leaves no entry without words, and each ends like a sentence."""
    story.whole().breaks_the_glass("Revenue pays out at four.").says(
        ApprovalReminded(proposal=PROPOSAL, number=2),
        VetoTimeEnded(proposal=PROPOSAL),
        OutcomeSettled(proposal=PROPOSAL, index=0, happened=True, reason="No process runs", by=BEN, at=orders.NINE),
        FindingAssigned(contract="state", term="Restores pair.", owner=BEN, due=orders.NINE),
        FindingSettled(contract="state", term="Restores pair.", how="fixed", reason="Only stop-savepoints now"),
        SavepointPlanned(reason="New pricing", code_before="1", code_after="2", until=orders.NINE),
        SavepointReleasing(proposal=PROPOSAL, tag="savepoint-5-20261103", snapshot="4711"),
        SavepointReleased(proposal=PROPOSAL, tag="savepoint-5-20261103", snapshot="4711", how="removed"),
        MaintenanceMarked(status="thawed", sentence="Maintenance of sales.orders may run again"),
        EvidenceRunAgain(run=next(iter(story.incident.runs)), message="Spark went away."),
        EvidenceStopped(stopped=True),
        RunbookChanged(runbook=story.incident.runbook),
        DiagnosisRequested(),
        VerificationRequested(proposal=PROPOSAL),
        DiagnosisEnded(how="failed", message="Flink did not answer"),
        PlanDeclared(planned=PLANNED),
        PlanWithdrawn(code="F21", reason="It was another table"),
        NoticesPreviewed(name="9f31", notices=(Notice.model_validate(NOTICE),)),
        PromiseReminded(what="review", due=orders.NINE, moment=orders.NINE, people=(BEN,), terms=("Restores pair.",)),
        ResponderAssigned(user=BEN, note="the savepoint of 14:00 is the good one"),
        *_told_by_mail(story),
    )

    told = {entry.body.kind: sentence(entry) for entry in story.incident.entries}

    kinds = {kind.model_fields["kind"].default for kind in get_args(get_args(Body)[0])}
    assert kinds - set(told) == {"note-added", "step-done", "step-skipped", "proposal-ended"}
    assert all(text[0].isupper() or text.startswith("<@") for text in told.values())
    assert all(text.endswith((".", "!", "?")) for text in told.values()), told
