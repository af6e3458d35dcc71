"""Incident, table and lineage -> the facts of one consumer's notice. Pure."""

from datetime import datetime, timedelta

from bot.domain.evidence import Evidence, Verdict
from bot.domain.execution import ProposalState
from bot.domain.findings import DuplicatesFinding, GapsFinding
from bot.domain.incident import Incident
from bot.domain.looked import NotSeen, Seen
from bot.domain.reads import Consumer, ReadRun
from bot.domain.table import Snapshot, TableState, Window
from bot.notices.facts import (
    Affected,
    Damage,
    NoticeFacts,
    NotObserved,
    ReadAbove,
    ReadersUnknown,
    Reading,
    RunAbove,
    Stage,
    Trusted,
)

TAG = "waterline"


def facts_for(
    incident: Incident,
    consumer: Consumer,
    table: TableState,
    reads: Seen[ReadRun] | NotSeen,
    *,
    now: datetime,
    next_update_minutes: int,
) -> NoticeFacts:
    """What `consumer` can be told now. `table` and `reads` are the present state, not the pinned one."""
    affected = affected_commits(incident, table)
    decisive = incident.diagnosis.decisive if incident.diagnosis else None
    return NoticeFacts(
        table=incident.opened.table,
        consumer=consumer.name,
        owner=consumer.owner,
        incident=incident.id,
        severity=incident.opened.severity,
        opened_at=incident.opened_at,
        summary=incident.opened.summary,
        stage=_stage(incident),
        cause=decisive[0].title if decisive is not None else None,
        affected=_affected(affected, table),
        trusted=_trusted(incident, table),
        damage=_damage(incident),
        reading=_reading(consumer, affected, reads),
        proofs=_proofs(incident),
        to_come=_to_come(incident),
        now=now,
        next_word_at=now + timedelta(minutes=next_update_minutes) if incident.is_open else None,
        channel=incident.opened.channel,
        responder=incident.responder,
    )


def _to_come(incident: Incident) -> int:
    run = incident.latest.get("missing_positions")
    finding = run.evidence.finding if run and run.evidence else None
    return finding.to_come if isinstance(finding, GapsFinding) else 0


def affected_commits(incident: Incident, table: TableState) -> tuple[Snapshot, ...]:
    """Commits of this incident that the trusted snapshot does not contain, oldest first.

    While the table is under review that is everything above the waterline, what was rolled back since
    included. Once it is proven, newer commits on main are no longer under review: what is left are the
    commits that were taken back.
    """
    if table.head is None:
        return ()
    contained = {s.snapshot_id for s in table.ancestors(incident.trusted)}
    is_proven = incident.waterline is not None and incident.waterline.status == "trusted"
    return tuple(
        snapshot
        for snapshot in Window(since=incident.window.since, until=table.head).of(table)
        if snapshot.snapshot_id not in contained and not (is_proven and snapshot.snapshot_id in table.chain_ids)
    )


def _affected(commits: tuple[Snapshot, ...], table: TableState) -> Affected | None:
    if not commits:
        return None
    return Affected(
        snapshots=tuple(s.snapshot_id for s in commits),
        first_at=min(s.committed_at for s in commits),
        last_at=max(s.committed_at for s in commits),
        rows=sum(s.counted("added-records") for s in commits),
        taken_back=not any(s.snapshot_id in table.chain_ids for s in commits),
    )


def _trusted(incident: Incident, table: TableState) -> Trusted | None:
    if incident.trusted is None:
        return None
    snapshot = table.by_id.get(incident.trusted)
    return Trusted(
        snapshot_id=incident.trusted,
        committed_at=snapshot.committed_at if snapshot else None,
        checkpoint_id=snapshot.checkpoint_id if snapshot else None,
        by_tag=table.ref(TAG) == incident.trusted,
    )


def _damage(incident: Incident) -> Damage:
    """What the newest *confirmed* evidence counted: after a repair, later evidence rightly counts nothing."""
    confirmed: list[Evidence] = [
        run.evidence
        for run in incident.runs.values()
        if run.evidence is not None and run.evidence.verdict is Verdict.CONFIRMED
    ]
    findings = [evidence.finding for evidence in reversed(confirmed)]
    return Damage(
        extra_rows=next((f.extra_rows for f in findings if isinstance(f, DuplicatesFinding)), None),
        missing_positions=next((f.missing for f in findings if isinstance(f, GapsFinding)), None),
    )


def _reading(consumer: Consumer, affected: tuple[Snapshot, ...], reads: Seen[ReadRun] | NotSeen) -> Reading:
    """`NotObserved` only when lineage answered and every run of this consumer names its snapshot."""
    if isinstance(reads, NotSeen):
        return ReadersUnknown(source=reads.source, reason=reads.reason)
    ids = {s.snapshot_id for s in affected}
    theirs = [run for run in reads.values if run.consumer == consumer.name]
    above = {
        (run.run_id, run.snapshot_id): RunAbove(run_id=run.run_id, at=run.at, snapshot_id=run.snapshot_id)
        for run in sorted(theirs, key=lambda run: run.at)
        if run.snapshot_id is not None and run.snapshot_id in ids
    }
    if above:
        return ReadAbove(runs=tuple(above.values()))
    earliest = min((s.committed_at for s in affected), default=None)
    silent = [run for run in theirs if run.snapshot_id is None and earliest is not None and run.at >= earliest]
    if silent:
        return ReadersUnknown(source=reads.source, reason=_nameless(silent))
    return NotObserved(runs_seen=len({run.run_id for run in theirs}))


def _nameless(runs: list[ReadRun]) -> str:
    names = ", ".join(run.run_id for run in runs[:3]) + ("" if len(runs) <= 3 else " and others")
    return f"the events of {names} do not name the snapshot that was read"


def _stage(incident: Incident) -> Stage:
    if incident.waterline is not None and incident.waterline.status == "trusted":
        return "proven"
    view = incident.current_proposal
    match view.state if view else None:
        case ProposalState.EXECUTING | ProposalState.UNKNOWN:
            return "executing"
        case ProposalState.APPLIED:
            return "verifying"
        case ProposalState.PROPOSED | ProposalState.HELD | ProposalState.APPROVED:
            return "proposed"
        case _:
            return "diagnosed" if incident.diagnosis and incident.diagnosis.decisive else "investigating"


def _proofs(incident: Incident) -> tuple[str, ...]:
    if incident.verified is None or not incident.verified.passed:
        return ()
    return tuple(check.name for check in incident.verified.checks if check.passed)
