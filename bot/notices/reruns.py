"""Whether a consumer that says it ran again was seen reading what can be trusted: by snapshots, not by clocks. Pure."""

from dataclasses import dataclass
from datetime import datetime

from bot.domain.effects import MoveTable, PublishBranch
from bot.domain.entries import EffectEnded, ExecutionEnded, RerunChecked
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.ids import SnapshotId
from bot.domain.incident import Incident
from bot.domain.looked import NotSeen
from bot.domain.reads import FarRead, ReadRun
from bot.domain.table import TableState
from bot.domain.told import AnswerView, NoticeView
from bot.notices.gather import affected_commits
from bot.notices.readings import FarReads, Reads


@dataclass(frozen=True)
class Turn:
    """From when on, and from which snapshot on, a read is one of the table as it should be."""

    at: datetime
    snapshot: SnapshotId | None
    """None: the head of that moment, as the table's own log tells it."""
    is_repair: bool


def turn_before(incident: Incident, view: NoticeView, answer: AnswerView) -> Turn:
    """The newest repair that is proven and was made before the answer; where there is none, the notice itself."""
    for proposal in reversed(incident.proposals.values()):
        proof = proposal.verified
        if proposal.state is not ProposalState.APPLIED or proof is None or not proof.passed or proof.branch is not None:
            continue
        turn = _made_by(incident, proposal) if proof.moves_waterline == "trusted" else None
        if turn is not None and turn.at <= answer.at:
            return turn
    return Turn(at=view.queued_at, snapshot=incident.trusted, is_repair=False)


def checked(
    incident: Incident, view: NoticeView, answer: AnswerView, table: TableState, reads: Reads, far: FarReads
) -> RerunChecked:
    """What is seen of this consumer now. `reads` and `far` reach back to a little before the turn."""
    turn, name = turn_before(incident, view, answer), view.notice.consumer
    told = RerunChecked(key=view.key, answered=answer.seq, found="none", is_repaired=turn.is_repair)
    if isinstance(reads, NotSeen):
        return told.model_copy(update={"found": "unknown", "reason": reads.reason})
    good = _good(incident, turn, table)
    found: list[ReadRun | FarRead] = [run for run in reads.values if run.consumer == name]
    if not found:
        if isinstance(far, NotSeen):
            return told.model_copy(update={"found": "unknown", "reason": far.reason})
        found = [run for run in far.values if run.consumer == name]
    newer = set(good[:-1]) if turn.is_repair else set()
    since = [run for run in found if run.at >= turn.at or run.snapshot_id in newer]
    if not since:
        return told
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


def _good(incident: Incident, turn: Turn, table: TableState) -> tuple[SnapshotId, ...]:
    """What a run may have read, newest first; the last one was there before the turn, and counts only after it."""
    if not turn.is_repair:
        wrong = {snapshot.snapshot_id for snapshot in affected_commits(incident, table)}
        return tuple(s.snapshot_id for s in table.chain if s.snapshot_id not in wrong)
    base = turn.snapshot
    if base is None:
        heads = [move.snapshot_id for move in table.head_moves if move.at <= turn.at]
        base = heads[-1] if heads else None
    good: list[SnapshotId] = []
    for snapshot in table.chain:
        if base not in table.chain_ids and snapshot.committed_at < turn.at:
            break
        good.append(snapshot.snapshot_id)
        if snapshot.snapshot_id == base:
            break
    return tuple(good)
