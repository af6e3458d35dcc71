"""Incidents for tests, made of real entries in a real journal: `story.opens()`, `.answers(…)`, `.rewinds()`, …"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from bot.incident import entries as e
from bot.incident.approval import Approval
from bot.incident.diagnosis import HEALTHY, Act, CannotTell, Diagnosis, Excluded, Matches, ModeResult, Remedy
from bot.incident.incident import Incident, fold
from bot.incident.journal import WATERLINE
from bot.incident.notice import Notice
from bot.observation.evidence import Evidence, Measure, Verdict
from bot.observation.findings import Finding, LedgerFinding
from bot.observation.ids import EvidenceId, IncidentId, JobId, SnapshotId, StepId, TableName, UserId
from bot.observation.ledger import Ledger
from bot.observation.table import Window
from bot.ports import Journal
from tests import orders_table as orders
from tests.decisions import ANA, BEN, CHANNEL, EVE, F2, F13, F18, HEAD_AFTER, PROPOSAL, RUNBOOK, rewind

PROVEN_BY = EvidenceId("01JBQ5M7Z3T9K4X8V2N6R0PZZZ")
"""What a proof of these stories has asked."""


def healthy(remedy: Remedy = Remedy.NOTHING) -> e.Diagnosed:
    """A diagnosis: nothing is wrong; or only people are to be told."""
    mode = F2.model_copy(update={"code": HEALTHY, "act": Act.TELL})
    match = Matches(
        headline="The job runs and main is whole.", reasons=(), last_good=orders.HEAD, remedy=remedy,
    )  # fmt: skip
    return e.Diagnosed(diagnosis=Diagnosis(results=(ModeResult(mode=mode, examined=match),)))


class Story:
    """One incident, told entry by entry. Every step takes a minute and returns the story."""

    def __init__(self, journal: Journal, *, start: datetime = orders.NINE) -> None:
        self.journal = journal
        self.now = start
        self.id = IncidentId("")
        self._seq = 0
        self._run = 0

    @property
    def incident(self) -> Incident:
        """The incident as the journal tells it now."""
        return fold(self.journal.entries(self.id))

    def says(self, *bodies: e.Body, by: str = WATERLINE) -> "Story":
        """Append these entries."""
        self.now += timedelta(minutes=1)
        written = self.journal.append(self.id, self._seq, bodies, by=by, at=self.now)
        self._seq = written[-1].seq
        return self

    def opens(
        self,
        summary: str = "Revenue is too high since 09:00.",
        *,
        trusted: int | None = orders.GOOD,
        table: TableName = orders.TABLE,
        planned: bool = False,
    ) -> "Story":
        """Ana opens it; the newest good snapshot is run A's last. Planned work marks nothing."""
        opened = e.IncidentOpened(
            table=table,
            job=orders.JOB,
            runbook=RUNBOOK.model_copy(update={"is_planned": planned}),
            severity="sev2",
            channel=CHANNEL,
            window=Window(since=orders.GOOD, until=orders.HEAD),
            trusted=None if trusted is None else SnapshotId(trusted),
            metadata_location=orders.METADATA_LOCATION,
            summary=summary,
        )
        entry = self.journal.open(opened, by=ANA, at=self.now)
        self.id, self._seq = entry.incident_id, entry.seq
        self.says(e.ResponderAssigned(user=ANA), by=ANA)
        if trusted is not None and not planned:
            self.says(e.WaterlineMoved(snapshot=SnapshotId(trusted), status="under-review"))
        return self

    def answers(
        self,
        task: str = "duplicate_rows",
        verdict: Verdict = Verdict.CONFIRMED,
        *,
        headline: str = "220 order ids live more than once.",
        finding: Finding | None = None,
        columns: Sequence[str] = ("order_id", "copies"),
        rows: Sequence[tuple[str, ...]] = (("4711", "2"), ("4712", "2")),
        branch: str | None = None,
        head: SnapshotId = orders.HEAD,
        **told: Any,
    ) -> "Story":
        """A task is asked for and answers, of the table at this head. `told`: other fields of its evidence."""
        self._run += 1
        run = EvidenceId(f"01JBQ5M7Z3T9K4X8V2N6R0PE{self._run:02d}")
        evidence = Evidence(
            verdict=verdict,
            headline=headline,
            measures=(Measure(name="extra rows", value=220, unit="rows"),),
            columns=tuple(columns),
            rows=tuple(rows),
            finding=finding,
            sources=("3 manifests of the window",),
            could_not_look=(orders.not_seen("Flink REST"),) if verdict is Verdict.INCONCLUSIVE else (),
            id=run,
            task=task,
            task_version=1,
            question="Does any key live more than once?",
            metadata_location=orders.METADATA_LOCATION,
            head=head,
            window=Window(since=orders.GOOD, until=orders.HEAD),
            at=self.now,
            took_ms=1840,
            bytes_read=48_213,
            branch=branch,
        ).model_copy(update=told)
        self.says(e.EvidenceRequested(run=run, task=task, step=StepId("duplicates"), branch=branch), by=ANA)
        return self.says(e.EvidenceRecorded(run=run, evidence=evidence))

    def draws_the_ledger(self, ledger: Ledger | None = None) -> "Story":
        """The ledger task answers."""
        return self.answers(
            "ledger",
            headline="Run b92e04 committed checkpoints 7 to 9 again.",
            finding=LedgerFinding(ledger=ledger or orders.ledger()),
        )

    def fails(self, task: str = "missing_positions", *, how: str = "failed") -> "Story":
        """A task is asked for and ends without an answer."""
        self._run += 1
        run = EvidenceId(f"01JBQ5M7Z3T9K4X8V2N6R0PE{self._run:02d}")
        self.says(e.EvidenceRequested(run=run, task=task, step=None), by=ANA)
        ended = e.EvidenceEnded.model_validate({"run": run, "how": how, "message": "Spark lost its executor."})
        return self.says(ended)

    def diagnoses(self) -> "Story":
        """F2 matches, F13 is excluded, F18 cannot tell."""
        match = Matches(
            headline="run b92e04 was started from savepoint 6 and wrote checkpoints 7 to 10 again.",
            reasons=("Checkpoint 7 was committed by run a3f1c2 and again by run b92e04.",),
            rows=(orders.HEAD,),
            last_good=orders.GOOD,
            wrong_run=orders.RUN_B,
            remedy=Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB,
        )
        results = (
            ModeResult(mode=F2, examined=match),
            ModeResult(mode=F13, examined=Excluded(reason="Only one run is alive.")),
            ModeResult(mode=F18, examined=CannotTell(missing=("The positions of the source.",))),
        )
        return self.says(e.Diagnosed(diagnosis=Diagnosis(results=results)))

    def proposes(self, *, readers_known: bool = True) -> "Story":
        """Ana proposes the rewind to checkpoint 10."""
        return self.says(e.ProposalMade(step=None, proposal=rewind(self.now, readers_known=readers_known)), by=ANA)

    def approves(self, by: UserId = BEN) -> "Story":
        """Ben says yes to the digest that he was shown."""
        digest = self.incident.proposals[PROPOSAL].proposal.digest
        given = Approval(by=by, at=self.now, digest=digest)
        return self.says(e.ProposalApproved(proposal=PROPOSAL, approval=given, complete=True), by=by)

    def breaks_the_glass(self, reason: str) -> "Story":
        """Eve approves alone."""
        digest = self.incident.proposals[PROPOSAL].proposal.digest
        given = Approval(by=EVE, at=self.now, digest=digest)
        body = e.GlassBroken(proposal=PROPOSAL, approval=given, reason=reason, owners=("S0OWNERS01",))
        return self.says(body, by=EVE)

    def loses_the_answer_to_its_stop(self) -> "Story":
        """The approved rewind is begun; whether its run was stopped is not known."""
        said = "Flink does not know run b92e04 any more."
        self.says(e.ExecutionStarted(proposal=PROPOSAL), by=BEN)
        self.says(e.EffectStarted(proposal=PROPOSAL, index=0))
        self.says(e.EffectEnded(proposal=PROPOSAL, index=0, how="unknown", detail=said))
        return self.says(e.ExecutionEnded(proposal=PROPOSAL, outcome="unknown", sentence=said))

    def rewinds(self, outcome: str = "applied") -> "Story":
        """The approved rewind is carried out."""
        self.says(e.ExecutionStarted(proposal=PROPOSAL), by=BEN)
        details = ("Stopped with a savepoint.", "Moved main by one commit.", "Run c5d0aa runs.")
        for index, detail in enumerate(details):
            job_id = JobId(orders.RUN_C) if index == 2 else None
            head = orders.HEAD if index == 1 else None
            self.says(e.EffectStarted(proposal=PROPOSAL, index=index, expected_head=head, job_id=job_id))
            self.says(e.EffectEnded(proposal=PROPOSAL, index=index, how="done", detail=detail))
        ended = {"proposal": PROPOSAL, "outcome": outcome, "sentence": "Table and job were rolled back."}
        return self.says(e.ExecutionEnded.model_validate(ended))

    def verifies(self, *, passed: bool = True) -> "Story":
        """The table is proven, and the waterline moves."""
        checks = (
            e.Check(name="next commit", passed=True, sentence="Checkpoint 11 stands on …377421."),
            e.Check(name="no duplicates", passed=passed, sentence="Every order id lives once."),
            e.Check(name="readers", passed=None, sentence="Lineage could not be asked."),
        )
        self.says(e.Verified(proposal=PROPOSAL, passed=passed, checks=checks, evidence=(PROVEN_BY,), head=HEAD_AFTER))
        return self.says(e.WaterlineMoved(snapshot=HEAD_AFTER, status="trusted")) if passed else self

    def notifies(self, consumer: str = "revenue_daily", *, how: str = "delivered") -> "Story":
        """A consumer is told."""
        notice = Notice(kind="recovered", revision=1, consumer=consumer, channel=CHANNEL, text="*Recovered* <b>")
        ended = {"key": notice.key(self.id), "how": how, "detail": "ts 1730624520.000100"}
        return self.says(e.NoticeQueued(notice=notice)).says(e.NoticeEnded.model_validate(ended))

    def reviews(self, *findings: e.Finding) -> "Story":
        """The contract review opens with these findings."""
        line = e.Finding(
            contract="state", term="Restores start from a paired point.", observed="Savepoint 6 had no pair.",
            holds=False, action="Start only from stop-savepoints.",
        )  # fmt: skip
        return self.says(e.ReviewOpened(findings=findings or (line,)), by=ANA)

    def closes(self) -> "Story":
        """Ana closes it."""
        return self.says(e.IncidentClosed(reason="Verified and told."), by=ANA)

    def whole(self) -> "Story":
        """Everything from the opening to the close."""
        self.opens().answers().draws_the_ledger().fails().diagnoses().proposes().approves().rewinds()
        return self.verifies().notifies().reviews().closes()
