"""Give a rehearsal up: start the job again that stood still for it, and remove its branch.

Main may have moved since: people start the job by hand, an undo has it go on, somebody rolls back. So the job goes on
from what pairs with main as it is now, which need not be the savepoint that the rehearsal's stop took (facts 0.1).
"""

from bot.actions._support.draft import drafted, job_and_head, live_run
from bot.actions._support.foreseen import knowing
from bot.actions._support.recipes import kept_for_start, start_from
from bot.actions._support.staged import Rehearsed, goes_on, rehearsed, start_in_words
from bot.incident.action import Action, Plan
from bot.incident.effects import DropBranch, Effect
from bot.incident.proposal import NobodyWrites, Proposal, RefIs, Requirement
from bot.observation.ids import SnapshotId, short
from bot.observation.table import TableState

ACTION = Action(
    name="drop_repair_branch",
    title="Drop the repair",
    promise="The repair's branch is removed and main does not change. The job starts again if a state of it pairs "
    "with main.",
    needs=(),
    is_destructive=True,
    proofs=(),
    proofs_of_start=(
        ("duplicate_rows", "The start duplicated no rows"),
        ("missing_positions", "The start lost no rows"),
    ),
    on_request=True,
    moves_waterline="no",
)


def propose(plan: Plan) -> Proposal:
    """The branch's removal, and a start of the stopped run's job if nobody has started it and a state of it pairs with
    main and doubles no other table of it. A branch that somebody has removed is no obstacle: the job may wait for it
    all the same. Raises Refused; CouldNotLook where a start is due and Flink or the restore points were not seen."""
    done = rehearsed(plan, ACTION)
    table = plan.case.observation.table
    at = table.ref(done.branch)
    job, head = job_and_head(plan, ACTION)
    effects: list[Effect] = []
    requirements: list[Requirement] = [RefIs(ref=done.branch, snapshot_id=at)]
    sentences = [f"Main of {table.name} stays at {short(head)}."]
    sure = f"Branch {done.branch} is {'removed' if at is not None else 'already gone'}"
    point = None
    if done.stopped is not None and live_run(plan) is None:
        point, stays_down, because = goes_on(plan, knowing(plan.case, done.stopped))
        requirements.append(NobodyWrites(job=job))
        if point is not None:
            start, intact = start_from(job, point, head)
            effects.append(start)
            requirements += [kept_for_start(plan, job, head, point), intact]
            sentences += start_in_words(plan, done, point)
            sure += f" and the job starts again from checkpoint {point.checkpoint_id}"
        else:
            sentences += stays_down
            sure += f"; the job stays down, because {because}"
    effects.append(DropBranch(table=table.name, branch=done.branch, head=at if at is not None else done.head))
    sentences.append(_removal(done, table, at))
    if point is not None:
        sentences.append(
            f"Verify: the next commit is of a later checkpoint than {point.checkpoint_id}, on top of {short(head)}; "
            "no more rows are duplicated or missing than before the start."
        )
    return drafted(
        plan,
        ACTION,
        title=f"{ACTION.title}: branch {done.branch}",
        effects=effects,
        requirements=requirements,
        sentences=sentences,
        sure=f"{sure}.",
        replayed_from=point.checkpoint_id if point else None,
        undo="It cannot be undone. Propose the repair again, which creates a new branch.",
        because=done.because,
        code=done.code,
    )


def _removal(done: Rehearsed, table: TableState, at: SnapshotId | None) -> str:
    if at is None:
        return f"Branch {done.branch} is already gone: somebody has removed it."
    removed = f"Remove branch {done.branch}, which is at {short(at)}."
    if at == done.base:
        return f"{removed} It has no commit of its own, because the repair was not made."
    if at in table.chain_ids:
        return (
            f"{removed} Main has that commit, although this incident has not published it: somebody set main to it "
            "by hand. It stays there unproven. After the branch is removed, `/waterline propose "
            "verify_current_state` proves it."
        )
    return f"{removed} Its commits can then be expired. Main uses none of the data files that they added."
