"""Incident, table and lineage -> the facts of one consumer's notice. Pure.

What a notice announces beside the table's state, out of the incident. Pure.

Whether a consumer must run again, and what it then computes anew: times, partitions, from which snapshot. Pure.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import assert_never, get_args

from bot.incident.diagnosis import LastGoodRows
from bot.incident.doubt import is_unplaced, rows_up_to
from bot.incident.entries import Finding
from bot.incident.execution import ProposalState, ProposalView
from bot.incident.incident import Incident
from bot.incident.notice import ALL_CLEAR, BESIDE, NO_ACTION, NOT_OF_ROWS, PLANNED, NoticeData, RerunData, WorkState
from bot.incident.setup import Team
from bot.incident.trust import TAG, Pin, TrustState, pins_for
from bot.incident.trust_claims import ALONE, ConcurrentDoubts
from bot.incident.waterline import has_changed_anything, last_taken_back
from bot.notices.affecting import affected_commits, affected_of
from bot.notices.damaging import damage_of
from bot.notices.extent import Rerun
from bot.notices.facts import (
    Affected,
    Damage,
    Earlier,
    NoticeFacts,
    ProposedRecovery,
    ReviewDone,
    Stage,
    TermBroken,
    Trusted,
    Unheard,
)
from bot.notices.reading import (
    FarReads,
    ManyReaders,
    NotObserved,
    ReadAbove,
    ReadersUnknown,
    Reading,
    Reads,
    ReadThrough,
    reading_of,
)
from bot.observation.contract import HIDDEN, TableContract
from bot.observation.findings import GapsFinding
from bot.observation.ids import SnapshotId
from bot.observation.ledger import LedgerRow
from bot.observation.readers import Consumer, Engine
from bot.observation.record import Utc
from bot.observation.table import TableState

_CALLS_NOTHING_WRONG = {PLANNED, NO_ACTION}
_NOTHING = Rerun(
    needed=None, from_snapshot=None, resume_after=None, event_from=None, event_until=None, partitions=()
)  # fmt: skip


def rerun_of(
    kind: str, stage: Stage, reading: Reading, affected: Affected | None, damage: Damage, *, incident: Incident,
    table: TableState, trusted: SnapshotId | None,
) -> Rerun:  # fmt: skip
    """Before the table is proven nobody is asked to run again, and nothing is said of from where. `trusted`: the
    newest snapshot that is proven, also by a later incident."""
    if kind in _CALLS_NOTHING_WRONG:
        return _NOTHING.model_copy(update={"needed": False})
    if stage != "proven":
        return _NOTHING
    needed = _is_needed(reading, affected)
    if needed is False or affected is None:
        return _NOTHING.model_copy(update={"needed": needed})
    good = _last_good(incident, table) if affected.taken_back else None
    since, until = _times(affected, damage)
    return Rerun(
        needed=needed,
        from_snapshot=good,
        resume_after=trusted if good is None else None,
        event_from=since,
        event_until=until,
        partitions=_partitions(affected) if not damage.missing_positions else (),
    )


def _is_needed(reading: Reading, affected: Affected | None) -> bool | None:
    match reading:
        case ReadAbove() | ReadThrough():
            return True
        case NotObserved():
            return False if reading.runs_seen or affected is None else None
        case ManyReaders() | ReadersUnknown():
            return False if affected is None else None
        case _:
            assert_never(reading)


def _last_good(incident: Incident, table: TableState) -> SnapshotId | None:
    """The newest commit of main that was there before the fault: a rewind may go back below what was trusted."""
    line = table.ancestors(incident.believed_good)
    return next((s.snapshot_id for s in line if s.snapshot_id in table.chain_ids), None)


def _partitions(affected: Affected) -> tuple[str, ...]:
    """Without what a hidden column says: the others alone are more than what is to be computed again, never less."""
    return tuple(each for each in affected.partitions if not each.endswith(HIDDEN))


def _times(affected: Affected, damage: Damage) -> tuple[Utc | None, Utc | None]:
    """Of what was wrong and of what was missing; nothing unless both are wholly known."""
    if affected.events_untold or affected.event_from is None or affected.event_until is None:
        return None, None
    if not damage.missing_positions:
        return affected.event_from, affected.event_until
    if damage.missing_from is None or damage.missing_until is None:
        return None, None
    return min(affected.event_from, damage.missing_from), max(affected.event_until, damage.missing_until)


_S = ProposalState
_OVER = frozenset({_S.REJECTED, _S.VETOED, _S.EXPIRED, _S.SUPERSEDED, _S.REFUSED})
_INNER = re.compile(r"<[@!#][^>]*>|\b[a-z][a-z0-9+.-]*://\S+")
"""People and places: should a term of the table ever name them, consumers do not read them."""


def proposal_of(incident: Incident) -> ProposedRecovery | None:
    """The newest proposal that is not over; None: there is none."""
    view = incident.current_proposal
    if view is None or view.state in _OVER:
        return None
    return ProposedRecovery(title=view.proposal.title, state=view.state.value)


def review_of(incident: Incident) -> ReviewDone | None:
    """The review of the table's own contract; None before it is opened.

    What it found of the job's state, of checkpoints and of decisions names people, reasons and places on storage: that
    stays with the responders.
    """
    if incident.review is None:
        return None
    promised = [finding for finding in incident.review if finding.contract == "table"]
    return ReviewDone(
        looked_at=len(promised),
        broken=tuple(_broken(incident, finding) for finding in promised if finding.holds is False),
        unknown=sum(1 for finding in promised if finding.holds is None),
        inner=len(incident.review) - len(promised),
    )


def earlier_of(incident: Incident, consumer: str, titles: Mapping[str, str]) -> Earlier | None:
    """The newest notice about the table that this consumer has, or may have; None: none has come yet. Its severity is
    the last one that has come: what was said of it since is said by the next notice, which takes the place of those
    that have not arrived."""
    views = [v for v in incident.notices.values() if v.notice.consumer == consumer and v.may_have_come]
    come = [view for view in views if view.notice.kind not in NOT_OF_ROWS]
    if not come:
        return None
    last = come[-1]
    said = next((v.notice.severity for v in reversed(views) if v.notice.severity is not None), None)
    title = titles.get(last.notice.kind, last.notice.kind.replace("_", " "))
    return Earlier(kind=last.notice.kind, title=title, at=last.queued_at, severity=said)


def unheard_of(incident: Incident, consumer: str, kind: str) -> tuple[Unheard, ...]:
    """The words of notices of this kind that have not come to this consumer, since the last one that has; the oldest
    first."""
    told = (v for v in incident.notices.values() if (v.notice.consumer, v.notice.kind) == (consumer, kind))
    waiting: list[Unheard] = []
    for view in told:
        if view.may_have_come:
            waiting.clear()
        elif view.notice.words:
            waiting.append(Unheard(at=view.queued_at, words=view.notice.words))
    return tuple(waiting)


def _broken(incident: Incident, finding: Finding) -> TermBroken:
    settled = incident.settled.get((finding.contract, finding.term))
    return TermBroken(
        term=finding.term,
        observed=_INNER.sub("…", finding.observed),
        action=_INNER.sub("…", finding.action),
        is_fixed=settled is not None and settled.how == "fixed",
    )


def facts_for(
    incident: Incident,
    consumer: Consumer,
    table: TableState,
    reads: Reads,
    far: FarReads,
    *,
    kind: str,
    contract: TableContract,
    now: datetime,
    next_update_minutes: int,
    words: str = "",
    titles: Mapping[str, str] | None = None,
    newer: Sequence[LedgerRow] = (),
    team: Team | None = None,
    around: ConcurrentDoubts = ALONE,
    work: WorkState | None = None,
) -> NoticeFacts:
    """What `consumer` can be told now. `table`, `reads` and `far` are the present state, not the pinned one.

    `kind`: of the notice. `titles`: kind of notice -> its title, by which an earlier one is named. `newer`: what was
    read of commits that no ledger of the incident has seen. `team`: whose table it is. `around`: what
    others say of the table. `work`: state of planned work; None in other notices.
    """
    earlier = earlier_of(incident, consumer.name, titles or {})
    commits = affected_commits(incident, table)
    affected = affected_of(incident, commits, table, contract, newer)
    damage = damage_of(incident, contract)
    reading = reading_of(consumer, commits, reads, far)
    stage, trusted = _stage(incident, around), _trusted(incident, table, around, _engine_of(consumer, reads))
    decisive = incident.diagnosis.decisive if incident.diagnosis else None
    return NoticeFacts(
        table=incident.opened.table,
        consumer=consumer.name,
        owner=consumer.owner,
        incident=incident.id,
        severity=incident.severity,
        severity_before=earlier.severity if earlier and earlier.severity != incident.severity else None,
        opened_at=incident.opened_at,
        symptom=None if incident.runbook.is_planned else incident.runbook.title,
        summary=incident.opened.summary,
        words=words,
        stage=stage,
        is_changed=has_changed_anything(incident),
        cause=decisive[0].title if decisive is not None else None,
        affected=affected,
        trusted=trusted,
        doubt=around.doubt if _is_trusted(incident) else None,
        damage=damage,
        reading=reading,
        rerun=rerun_of(
            kind,
            stage,
            reading,
            affected,
            damage,
            incident=incident,
            table=table,
            trusted=trusted.snapshot_id if trusted is not None else None,
        ),
        proofs=_proofs(incident),
        to_come=_to_come(incident),
        proposal=proposal_of(incident),
        review=review_of(incident),
        earlier=earlier,
        unheard=unheard_of(incident, consumer.name, kind),
        now=now,
        next_word_at=None
        if _ends_it(incident, consumer, kind, stage)
        else now + timedelta(minutes=next_update_minutes),
        work=work or ("planned" if kind == PLANNED else None),
        over_by=_over_by(incident, now),
        channel=incident.opened.channel,
        responder=incident.responder,
        team=(team.in_words(now.date()) if team is not None else "") or None,
    )


def _ends_it(incident: Incident, consumer: Consumer, kind: str, stage: Stage) -> bool:
    """Whether nothing more is promised. Who had the closing message, and is told of a detail of a table that is
    proven, waits for nothing."""
    if not incident.is_open or kind in ALL_CLEAR | BESIDE:
        return True
    if kind != "correction" or stage != "proven":
        return False
    again = last_taken_back(incident)
    since = 0 if again is None else again.seq
    told = (view for view in incident.notices.values() if view.notice.consumer == consumer.name)
    return any(view.notice.kind in ALL_CLEAR and view.seq > since for view in told)


def _over_by(incident: Incident, now: datetime) -> datetime | None:
    over_by = incident.plan.over_by if incident.plan is not None else None
    return over_by if over_by is not None and over_by > now else None


def data_of(facts: NoticeFacts, kind: str) -> NoticeData:
    """What a program can act on, of the same facts. Of planned work: that there is nothing to be done, and nothing of
    commits, of reading or of what is trusted, for its text says nothing of them either."""
    if kind == PLANNED:
        return NoticeData(
            stage=facts.stage,
            rerun=RerunData(needed=facts.rerun.needed),
            next_word_at=facts.next_word_at,
            work=facts.work,
            over_by=facts.over_by if facts.work == "planned" else None,
        )
    affected, reading, keys, rerun = facts.affected, facts.reading, facts.damage.keys, facts.rerun
    seen = reading if isinstance(reading, ReadAbove | ReadThrough) else None
    runs = tuple(run.run_id for run in seen.runs) if seen else ()
    is_whole = affected is not None and not affected.events_untold
    return NoticeData(
        stage=facts.stage,
        affected_snapshots=affected.snapshots if affected else (),
        affected_from=affected.first_at if affected else None,
        affected_until=affected.last_at if affected else None,
        affected_event_from=affected.event_from if affected and is_whole else None,
        affected_event_until=affected.event_until if affected and is_whole else None,
        affected_partitions=affected.partitions if affected else (),
        keys_repeated=keys.repeated if keys else None,
        keys_changed=keys.changed if keys else None,
        keys_gone=keys.gone if keys else None,
        trusted_snapshot=facts.trusted.snapshot_id if facts.trusted and facts.trusted.pins else None,
        reading=reading.kind,
        affected_runs=runs,
        rerun=RerunData(
            needed=rerun.needed,
            runs=runs if rerun.needed else (),
            read_snapshots=seen.snapshots if seen and rerun.needed else (),
            from_snapshot=rerun.from_snapshot,
            resume_after=rerun.resume_after,
            event_from=rerun.event_from,
            event_until=rerun.event_until,
            partitions=rerun.partitions,
        ),
        next_word_at=facts.next_word_at,
    )


def _to_come(incident: Incident) -> int:
    run = incident.latest.get("missing_positions")
    finding = run.evidence.finding if run and run.evidence else None
    return finding.to_come if isinstance(finding, GapsFinding) else 0


_USUAL = ("Spark", "Trino")
"""Shown to whoever's engine nobody knows."""


def _engine_of(consumer: Consumer, reads: Reads) -> str | None:
    """As the settings say, else as the newest run of this consumer that tells it; None: not known."""
    theirs = [run for run in reads.values if run.consumer == consumer.name and run.engine]
    told = max(theirs, key=lambda run: run.at).engine.lower() if theirs else ""
    return consumer.engine or next((each for each in get_args(Engine) if each.lower() == told), None)


def _trusted(incident: Incident, table: TableState, around: ConcurrentDoubts, engine: str | None) -> Trusted | None:
    """With how `engine` reads it. A later incident speaks for the table as it is now: by its proof, or by its doubt."""
    trusted = around.later.snapshot if around.later is not None else incident.trusted
    if trusted is None:
        return None
    snapshot = table.by_id.get(trusted)
    return Trusted(
        snapshot_id=trusted,
        committed_at=snapshot.committed_at if snapshot else None,
        checkpoint_id=snapshot.checkpoint_id if snapshot else None,
        by_tag=table.ref(TAG) == trusted,
        is_known_good=_is_known_good(incident, around),
        pins=shown_pins(table, trusted, engine) if snapshot else (),
        is_usual=engine is None,
    )


def shown_pins(table: TableState, snapshot: SnapshotId, engine: str | None) -> tuple[Pin, ...]:
    wanted = _USUAL if engine is None else (engine,)
    return tuple(pin for pin in pins_for(table, snapshot) if pin.engine in wanted)


def _is_known_good(incident: Incident, around: ConcurrentDoubts) -> bool:
    if around.later is not None:
        return around.later.state is TrustState.TRUSTED
    is_clean = rows_up_to(incident, incident.trusted) is LastGoodRows.CLEAN and not is_unplaced(incident)
    return _is_trusted(incident) or is_clean


def _is_trusted(incident: Incident) -> bool:
    return incident.waterline is not None and incident.waterline.status == "trusted"


def _stage(incident: Incident, around: ConcurrentDoubts) -> Stage:
    if _is_trusted(incident):
        return "proven" if around.doubt is None else "investigating"
    view = incident.current_proposal
    match view.state if view else None:
        case ProposalState.EXECUTING | ProposalState.UNKNOWN:
            return "executing"
        case ProposalState.APPLIED if view is not None and not _has_failed(view):
            return "verifying"
        case ProposalState.PROPOSED | ProposalState.HELD | ProposalState.APPROVED:
            return "proposed"
        case _:
            return "diagnosed" if incident.diagnosis and incident.diagnosis.decisive else "investigating"


def _has_failed(view: ProposalView) -> bool:
    """Whether its proof has not made the table trusted; a repair that is proven on a branch is still to come."""
    return view.verified is not None and (view.verified.branch is None or not view.verified.passed)


def _proofs(incident: Incident) -> tuple[str, ...]:
    if incident.verified is None or not incident.verified.passed:
        return ()
    return tuple(check.name for check in incident.verified.checks if check.passed)
