"""Whether a consumer that says it ran again was seen reading what can be trusted: by snapshots, not by clocks. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, takewhile

from bot.domain.effects import MoveTable, PublishBranch
from bot.domain.entries import EffectEnded, ExecutionEnded, RerunChecked
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.ids import SnapshotId
from bot.domain.incident import Incident
from bot.domain.looked import NotSeen
from bot.domain.reads import FarRead, ReadRun
from bot.domain.table import Snapshot, TableState
from bot.domain.told import AnswerView, NoticeView
from bot.notices.affecting import affected_commits
from bot.notices.readings import FarReads, Reads


@dataclass(frozen=True)
class Turn:
    """From when on, and from which snapshot on, a read is one of the table as it should be."""

    at: datetime
    snapshot: SnapshotId | None
    """None: the head of that moment, as the table's own log tells it."""
    is_repair: bool


def turn_before(incident: Incident, view: NoticeView, answer: AnswerView) -> Turn:
    """The newest repair that is proven, stands, and was made before the answer; where there is none, the notice.

    After an undo, and wherever the waterline has not moved up, no repair stands.
    """
    notice = Turn(at=view.queued_at, snapshot=incident.trusted, is_repair=False)
    if incident.waterline is None or incident.waterline.status != "trusted":
        return notice
    for proposal in reversed(incident.proposals.values()):
        proof = proposal.verified
        if proposal.state is not ProposalState.APPLIED or proof is None or not proof.passed or proof.branch is not None:
            continue
        if proof.moves_waterline == "under-review":
            return notice
        turn = _made_by(incident, proposal) if proof.makes_trusted else None
        if turn is not None and turn.at <= answer.at:
            return turn
    return notice


def ran_itself(incident: Incident, view: NoticeView, answer: AnswerView, table: TableState, reads: Reads) -> bool:
    """Whether a run of this consumer's own is seen since the turn: where none is, it may have run through others."""
    turn = _on(table, turn_before(incident, view, answer))
    return bool(_since(turn, _good(incident, turn, table), view.notice.consumer, reads))


def checked(
    incident: Incident, view: NoticeView, answer: AnswerView, table: TableState, reads: Reads, far: FarReads
) -> RerunChecked:
    """What is seen of this consumer now. `reads` and `far` reach back to a little before the turn."""
    turn, name = _on(table, turn_before(incident, view, answer)), view.notice.consumer
    told = RerunChecked(key=view.key, answered=answer.seq, found="none", is_repaired=turn.is_repair)
    if isinstance(reads, NotSeen):
        return told.model_copy(update={"found": "unknown", "reason": reads.reason})
    good = _good(incident, turn, table)
    since = _since(turn, good, name, reads)
    if not since:
        if isinstance(far, NotSeen):
            return told.model_copy(update={"found": "unknown", "reason": far.reason})
        since = _since(turn, good, name, far)
    if not since:
        unread = reads.unread or (None if isinstance(far, NotSeen) else far.unread)
        return told.model_copy(update={"found": "unknown", "reason": unread}) if unread else told
    best = max(since, key=lambda run: (run.snapshot_id in good, run.snapshot_id is not None, run.at))
    how = "good" if best.snapshot_id in good else "unnamed" if best.snapshot_id is None else "wrong"
    return told.model_copy(
        update={
            "found": how,
            "run": best.run_id,
            "snapshot": best.snapshot_id,
            "at": best.at,
            "through": best.path if isinstance(best, FarRead) else (),
        }
    )


def _made_by(incident: Incident, view: ProposalView) -> Turn | None:
    """When main was moved, and to where; of a recovery of the job alone, its end."""
    proposal, effects = view.proposal.id, view.proposal.effects
    ended: datetime | None = None
    for entry in reversed(incident.entries):
        body = entry.body
        if isinstance(body, ExecutionEnded) and body.proposal == proposal:
            ended = entry.at
        if isinstance(body, EffectEnded) and body.proposal == proposal and body.how == "done":
            match effects[body.index]:
                case MoveTable(to=target) | PublishBranch(head=target):
                    return Turn(at=entry.at, snapshot=target, is_repair=True)
    return Turn(at=ended, snapshot=None, is_repair=True) if ended is not None else None


def _on(table: TableState, turn: Turn) -> Turn:
    """With the head of that moment, where the repair itself did not move main."""
    if turn.snapshot is not None or not turn.is_repair:
        return turn
    heads = [move.snapshot_id for move in table.head_moves if move.at <= turn.at]
    return replace(turn, snapshot=heads[-1] if heads else None)


def _since(turn: Turn, good: frozenset[SnapshotId], consumer: str, runs: Reads | FarReads) -> list[ReadRun | FarRead]:
    """The consumer's runs since the turn: by the clock, or because what they read came only after the repair."""
    newer = good - {turn.snapshot} if turn.is_repair else frozenset()
    return [run for run in runs.values if run.consumer == consumer and (run.at >= turn.at or run.snapshot_id in newer)]


def _good(incident: Incident, turn: Turn, table: TableState) -> frozenset[SnapshotId]:
    """What a run may have read. Never what is under review, nor what a later repair had to mend."""
    line: Iterable[Snapshot] = table.chain
    if turn.is_repair and turn.snapshot is not None and turn.snapshot in table.chain_ids:
        line = chain(takewhile(lambda s: s.snapshot_id != turn.snapshot, line), (table.by_id[turn.snapshot],))
    elif turn.is_repair:
        line = takewhile(lambda s: s.committed_at >= turn.at, line)
    wrong = {snapshot.snapshot_id for snapshot in affected_commits(incident, table)}
    return frozenset(s.snapshot_id for s in line if s.snapshot_id not in wrong)
