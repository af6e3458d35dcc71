"""Incident, table and lineage -> the facts of one consumer's notice. Pure."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from bot.domain.effects import PublishBranch
from bot.domain.evidence import Evidence, Verdict
from bot.domain.execution import ProposalState
from bot.domain.findings import DuplicatesFinding, GapsFinding
from bot.domain.ids import SnapshotId
from bot.domain.incident import Incident
from bot.domain.notice import NoticeData
from bot.domain.reads import Consumer
from bot.domain.table import Snapshot, TableState, Window
from bot.notices.announcing import backfill_of, changes_of, earlier_of, proposal_of, review_of
from bot.notices.facts import Affected, Damage, NoticeFacts, ReadAbove, ReadThrough, Stage, Trusted
from bot.notices.readings import FarReads, Reads, reading_of

TAG = "waterline"


def facts_for(
    incident: Incident,
    consumer: Consumer,
    table: TableState,
    reads: Reads,
    far: FarReads,
    *,
    now: datetime,
    next_update_minutes: int,
    words: str = "",
    titles: Mapping[str, str] | None = None,
) -> NoticeFacts:
    """What `consumer` can be told now. `table`, `reads` and `far` are the present state, not the pinned one.

    `titles`: kind of notice -> its title, by which an earlier one is named.
    """
    earlier = earlier_of(incident, consumer.name, titles or {})
    affected = affected_commits(incident, table)
    decisive = incident.diagnosis.decisive if incident.diagnosis else None
    return NoticeFacts(
        table=incident.opened.table,
        consumer=consumer.name,
        owner=consumer.owner,
        incident=incident.id,
        severity=incident.severity,
        severity_before=earlier.severity if earlier and earlier.severity != incident.severity else None,
        opened_at=incident.opened_at,
        summary=incident.opened.summary,
        words=words,
        stage=_stage(incident),
        cause=decisive[0].title if decisive is not None else None,
        affected=_affected(affected, table),
        trusted=_trusted(incident, table),
        damage=_damage(incident),
        reading=reading_of(consumer, affected, reads, far),
        proofs=_proofs(incident),
        to_come=_to_come(incident),
        proposal=proposal_of(incident),
        backfill=backfill_of(incident),
        changes=changes_of(incident),
        review=review_of(incident),
        earlier=earlier,
        now=now,
        next_word_at=now + timedelta(minutes=next_update_minutes) if incident.is_open else None,
        channel=incident.opened.channel,
        responder=incident.responder,
    )


def data_of(facts: NoticeFacts) -> NoticeData:
    """What a program can act on, of the same facts."""
    affected, reading = facts.affected, facts.reading
    return NoticeData(
        stage=facts.stage,
        affected_snapshots=affected.snapshots if affected else (),
        affected_from=affected.first_at if affected else None,
        affected_until=affected.last_at if affected else None,
        trusted_snapshot=facts.trusted.snapshot_id if facts.trusted else None,
        reading=reading.kind,
        affected_runs=tuple(r.run_id for r in reading.runs) if isinstance(reading, ReadAbove | ReadThrough) else (),
        next_word_at=facts.next_word_at,
    )


def _to_come(incident: Incident) -> int:
    run = incident.latest.get("missing_positions")
    finding = run.evidence.finding if run and run.evidence else None
    return finding.to_come if isinstance(finding, GapsFinding) else 0


def affected_commits(incident: Incident, table: TableState) -> tuple[Snapshot, ...]:
    """Commits of this incident whose readers have read what is not, or was not, to be relied on; oldest first.

    While the table is under review that is everything above the waterline, what was rolled back since
    included. Once it is proven, it is what was taken back, and what a published repair stands on: such a repair
    mends the rows on top, so that the wrong commits stay ancestors of main. Newer commits are no longer under review.
    """
    if table.head is None:
        return ()
    commits = Window(since=incident.window.since, until=table.head).of(table)
    contained = {s.snapshot_id for s in table.ancestors(incident.trusted)}
    if incident.waterline is None or incident.waterline.status != "trusted":
        return tuple(s for s in commits if s.snapshot_id not in contained)
    mended = _mended_on_top(incident, table)
    return tuple(
        s
        for s in commits
        if s.snapshot_id in mended or (s.snapshot_id not in contained and s.snapshot_id not in table.chain_ids)
    )


def _mended_on_top(incident: Incident, table: TableState) -> frozenset[SnapshotId]:
    """What main held, above what was trusted when the incident opened, until a repair was published on top of it.

    A branch's head gets on main only by being published, and leaves it by an undo: main itself tells which repairs
    count, however their proposals have ended. An earlier repair below a later one counts too: it was not enough.
    """
    published = [
        effect
        for view in incident.proposals.values()
        for effect in view.proposal.effects
        if isinstance(effect, PublishBranch) and effect.head != effect.base and effect.head in table.chain_ids
    ]
    if not published:
        return frozenset()
    held = {s.snapshot_id for effect in published for s in table.ancestors(effect.base)}
    return frozenset(held - {s.snapshot_id for s in table.ancestors(incident.opened.trusted)})


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
