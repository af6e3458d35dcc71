"""What else may follow the fault: a repair published on top of it, and an undo of the rewind; told to a story."""

from datetime import datetime, timedelta

from bot.incident.approval import Approval
from bot.incident.effects import MoveTable, PublishBranch
from bot.incident.entries import (
    EffectEnded,
    EffectStarted,
    ExecutionEnded,
    ExecutionStarted,
    ProposalApproved,
    ProposalMade,
    Verified,
    WaterlineMoved,
)
from bot.incident.proposal import UNDO as UNDO_ACTION
from bot.incident.proposal import Proposal
from bot.observation.ids import JobId, ProposalId, SnapshotId
from bot.observation.snapshot import REPAIR
from bot.observation.table import HeadMove, Ref, TableState
from tests import orders_table as orders
from tests.decisions import ANA, BEN, HEAD_AFTER, rewind
from tests.incidents import PROVEN_BY, Story

PUBLICATION = ProposalId("01JBQ5M7Z3T9K4X8V2N6R0PWAC")
UNDO = ProposalId("01JBQ5M7Z3T9K4X8V2N6R0PWAD")
UNDO_PROOF = Verified(
    proposal=UNDO, passed=True, checks=(), evidence=(), head=orders.HEAD, moves_waterline="under-review"
)
MENDED = SnapshotId(8100000000000000001)
"""The repair: it stands on run B's last commit, which stays an ancestor of main."""
NEXT = SnapshotId(8100000000000000002)
"""What the job commits on top of the repair."""
WRONG = tuple(snapshot for _, snapshot, run, _ in orders.COMMITS if run == orders.RUN_B)


def table_rewound() -> TableState:
    """Main is back at run A's last commit; run C's first commit is proven, and its second came after the proof."""
    state = orders.table_state()
    good = next(s for s in state.snapshots if s.snapshot_id == orders.GOOD)
    moves = [*state.head_moves, HeadMove(at=orders.NINE + timedelta(minutes=18), snapshot_id=orders.GOOD)]
    snapshots = [*state.snapshots]
    for checkpoint, snapshot_id in ((11, HEAD_AFTER), (12, SnapshotId(HEAD_AFTER + 1000))):
        commit = {
            "snapshot_id": snapshot_id,
            "parent_id": moves[-1].snapshot_id,
            "sequence_number": checkpoint - 1,
            "committed_at": orders.NINE + timedelta(minutes=9 + checkpoint),
            "summary": {"flink.job-id": JobId(orders.RUN_C), "flink.max-committed-checkpoint-id": str(checkpoint)},
        }
        snapshots.append(good.model_copy(update=commit))
        moves.append(HeadMove(at=snapshots[-1].committed_at, snapshot_id=snapshot_id))
    return state.model_copy(
        update={
            "head": moves[-1].snapshot_id,
            "snapshots": tuple(snapshots),
            "head_moves": tuple(moves),
            "refs": (Ref(name="waterline", kind="tag", snapshot_id=HEAD_AFTER),),
        }
    )


def table_published() -> TableState:
    """Run B's commits, the repair at 09:20 on top of them, and the job's next commit on top of that."""
    state, moves = orders.table_state(), []
    last, made = state.snapshots[-1], []
    for place, snapshot_id in enumerate((MENDED, NEXT)):
        at = orders.NINE + timedelta(minutes=20 + place)
        commit = {
            "snapshot_id": snapshot_id, "parent_id": made[-1].snapshot_id if made else last.snapshot_id,
            "sequence_number": last.sequence_number + 1 + place, "committed_at": at,
        }  # fmt: skip
        made.append(last.model_copy(update={**commit, "summary": {REPAIR: "x/1"} if place == 0 else last.summary}))
        moves.append(HeadMove(at=at, snapshot_id=snapshot_id))
    return state.model_copy(
        update={
            "head": NEXT, "snapshots": (*state.snapshots, *made), "head_moves": (*state.head_moves, *moves),
        }
    )  # fmt: skip


def publishes(story: Story) -> Story:
    """The repair of the branch becomes main, is proven, and the waterline moves up to it."""
    effect = PublishBranch(
        table=orders.TABLE, branch="recovery-1", base=orders.HEAD, head=MENDED, keep_head_as="left", drop_branch=True
    )
    made = rewind(story.now).model_copy(update={"id": PUBLICATION, "effects": (effect,)})
    return _carries_out(story, made, Verified(
        proposal=PUBLICATION, passed=True, checks=(), evidence=(PROVEN_BY,), head=MENDED
    ), WaterlineMoved(snapshot=MENDED, status="trusted"))  # fmt: skip


def undoes_the_rewind(story: Story) -> Story:
    """Main goes back to run B's last commit: the fault is back, and the table under review."""
    moved = WaterlineMoved(snapshot=orders.GOOD, status="under-review")
    return _carries_out(story, undo_of_the_rewind(story.now), UNDO_PROOF, moved)


def undo_of_the_rewind(at: datetime) -> Proposal:
    """Takes main back to run B's last commit."""
    effect = MoveTable(table=orders.TABLE, to=orders.HEAD, keep_head_as="left-2")
    made = rewind(at)
    return made.model_copy(
        update={"id": UNDO, "action": UNDO_ACTION, "effects": (effect,), "repairs": (), "undoes": made.id}
    )


def _carries_out(story: Story, made: Proposal, proof: Verified, moved: WaterlineMoved) -> Story:
    proposal = made.id
    given = Approval(by=BEN, at=story.now, digest=made.digest)
    story.says(ProposalMade(step=None, proposal=made), by=ANA)
    story.says(ProposalApproved(proposal=proposal, approval=given, complete=True), by=BEN)
    story.says(ExecutionStarted(proposal=proposal), by=BEN)
    story.says(EffectStarted(proposal=proposal, index=0, expected_head=orders.HEAD))
    story.says(EffectEnded(proposal=proposal, index=0, how="done", detail="Moved main."))
    story.says(ExecutionEnded(proposal=proposal, outcome="applied", sentence="Main was moved."))
    return story.says(proof).says(moved)
