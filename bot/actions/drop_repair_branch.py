"""Give a rehearsal up: start the job again that stood still for it, and remove its branch."""

from bot.actions._draft import drafted, job_and_head, live_run, untouched
from bot.actions._rehearsed import rehearsed, state_of_stop
from bot.domain.action import Action, Plan
from bot.domain.effects import DropBranch, Effect, StartFromStop, StartJob
from bot.domain.errors import Refused
from bot.domain.ids import short, short_job
from bot.domain.proposal import Proposal
from bot.domain.requirements import HeadDescends, NobodyWrites, RefIs, Requirement, RestorePointIntact, TableIs

ACTION = Action(
    name="drop_repair_branch",
    title="Give the repair up",
    promise="The repair's branch is gone, main is as it was, and the job goes on.",
    needs=(),
    is_destructive=True,
    proofs=(),
    on_request=True,
    moves_waterline="no",
)


def propose(plan: Plan) -> Proposal:
    """The branch's removal, and a start of the stopped run's job if nobody has started it. Raises Refused."""
    done = rehearsed(plan, ACTION)
    table = plan.case.observation.table
    at = table.ref(done.branch)
    assert at is not None
    if at in table.chain_ids:
        raise Refused(
            f"Branch {done.branch} is part of main: the repair was published.",
            f"Expected a repair that is not; {short(at)} is below the head.",
            "Nothing has to be given up. To go back, undo the publication.",
        )
    job, head = job_and_head(plan, ACTION)
    effects: list[Effect] = []
    requirements: list[Requirement] = [TableIs(uuid=table.uuid), RefIs(ref=done.branch, snapshot_id=at)]
    sentences = [f"Main of {table.name} stays at {short(head)}."]
    if done.stopped is not None and live_run(plan) is None:
        point = state_of_stop(plan, done)
        requirements += [NobodyWrites(job=job), HeadDescends(head=head, job_id=None)]
        if point is not None:
            checkpoint = point.checkpoint_id
            effects.append(StartJob(job=job, path=point.path, checkpoint_id=checkpoint, on_top_of=head))
            requirements.append(
                RestorePointIntact(job=job, path=point.path, checkpoint_id=checkpoint, digest=point.digest)
            )
            sentences.append(
                f"Start the job from checkpoint {checkpoint} at {point.path}, which the rehearsal's stop took."
            )
        else:
            effects.append(StartFromStop(job=job, job_id=done.stopped))
            sentences.append(
                f"Start the job from the newest state that run {short_job(done.stopped)} has left, once it is proven "
                "that it pairs with the head."
            )
    is_still = bool(effects)
    effects.append(DropBranch(table=table.name, branch=done.branch, head=at))
    sentences.append(
        f"Remove branch {done.branch}, which is at {short(at)}. Its commits can be expired from then on; no data file "
        "of main is among what they added."
    )
    proposal = drafted(
        plan,
        ACTION,
        title=f"{ACTION.title}: branch {done.branch}",
        effects=effects,
        requirements=requirements,
        preview=untouched(
            sentences,
            sure=f"Branch {done.branch} is removed" + (" and the job starts again." if is_still else "."),
        ),
        undo="It cannot be undone: propose the repair anew, which makes a new branch.",
    )
    return proposal.model_copy(update={"because": done.because, "code": done.code})
