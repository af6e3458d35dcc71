"""Make a repair that was proven on its branch the state of main, and start the job again: the second approval.

A fast-forward: nothing is written, and it is refused unless main is still where the branch began. The sink finds its
newest commit below the repair, because it looks for it among the head's ancestors (facts 1.5).
"""

from collections.abc import Mapping
from itertools import takewhile

from bot.actions._support.draft import drafted, job_and_head, others_to_pause, readers_of
from bot.actions._support.foreseen import committer
from bot.actions._support.recipes import start_from
from bot.actions._support.staged import (
    GoesOn,
    Rehearsed,
    goes_on_published,
    may_yet_be_found,
    rehearsed,
    start_in_words,
)
from bot.actions._support.staging import sized
from bot.history.restore import RestorePoint
from bot.incident.action import Action, Plan
from bot.incident.effects import Effect, PublishBranch, StartFromStop
from bot.incident.proposal import HeadDescends, NobodyWrites, Proposal, RefIs, Requirement, SnapshotPresent
from bot.observation.errors import Refused
from bot.observation.ids import SnapshotId, short, short_job
from bot.observation.sentences import counted
from bot.observation.table import TableState

ACTION = Action(
    name="publish_repair",
    title="Publish the repair",
    promise="Main becomes what was proven on the branch. The job starts again if a state of it pairs with main.",
    needs=(),
    proofs=(("duplicate_rows", "No duplicate rows"), ("duplicate_files", "No duplicate files")),
    on_request=True,
    moves_waterline="trusted",
)


def propose(plan: Plan) -> Proposal:
    """The fast-forward, and the start from the newest state that pairs with main then, in most cases the savepoint of
    the rehearsal's stop. None is started where storage shows no such state, or only one that would double another table
    of the job. Raises Refused."""
    done = rehearsed(plan, ACTION)
    table = plan.case.observation.table
    if table.ref(done.branch) is None:
        raise Refused(
            f"The repair on branch {done.branch} cannot be published: somebody has removed the branch.",
            f"Expected the branch at {short(done.head)}; there is no branch {done.branch}.",
            "Drop the repair (/waterline propose drop_repair_branch). That starts the job again if it is stopped "
            "and a state of it pairs with main. Then propose the repair again.",
        )
    _must_be_proven(plan, done)
    job, head = job_and_head(plan, ACTION)
    if head != done.base:
        raise _moved_on(table, done)
    kept = f"{plan.incident}-left-{plan.proposal[-4:].lower()}"
    keeps = _condemning(plan, done)
    goes_on = goes_on_published(plan, done)
    point = goes_on.point
    is_looked_for = (
        point is None and done.stopped is not None and may_yet_be_found(plan.case, done.stopped, done.savepoint)
    )
    effects: list[Effect] = [
        PublishBranch(
            table=table.name,
            branch=done.branch,
            base=done.base,
            head=done.head,
            keep_head_as=kept,
            drop_branch=not plan.keeps_branch,
            keeps=keeps,
        )
    ]
    requirements: list[Requirement] = [
        NobodyWrites(job=job),
        HeadDescends(head=done.base, job_id=None),
        RefIs(ref=done.branch, snapshot_id=done.head),
        *(SnapshotPresent(snapshot_id=snapshot) for snapshot in keeps.values()),
    ]
    if point is not None:
        start, intact = start_from(job, point, done.head)
        effects.append(start)
        requirements.append(intact)
    elif is_looked_for and done.stopped is not None:
        effects.append(StartFromStop(job=job, job_id=done.stopped))
    said = [f"{sized(files)} {verb}" for files, verb in ((done.add, "more"), (done.remove, "fewer")) if files]
    rows = ((done.written, "more"), (done.rows, "fewer"))
    said += [f"{counted(number, 'row')} {verb}" for number, verb in rows if number]
    is_down = done.stopped is not None and point is None and not is_looked_for
    left, removed = _left(plan), done.remove
    read = table.ancestors(done.base) if removed or done.rows else ()
    return drafted(
        plan,
        ACTION,
        title=f"{ACTION.title} of branch {done.branch}",
        effects=effects,
        requirements=requirements,
        files=removed.files if removed else 0,
        rows=(removed.rows if removed else 0) + done.rows,
        replayed_from=point.checkpoint_id if point else None,
        affected_runs=readers_of(plan, read),
        sentences=(
            *others_to_pause(plan, until="main has moved"),
            f"Move main from {short(done.base)} forward to {short(done.head)}, which was proven on branch "
            f"{done.branch}: {' and '.join(said)}. This is refused if anything was committed on main or on the branch "
            "since.",
            f"The present head stays readable under the tag {kept}. "
            f"{'The branch stays, by policy.' if plan.keeps_branch else 'The same commit removes the branch.'}",
            *(
                f"Tag compaction {short(snapshot)} as {tag}: its expiry would delete files that the repair adds again. "
                "Keep this tag until these files are rewritten, for example by their next compaction."
                for tag, snapshot in keeps.items()
            ),
            *_start(plan, done, goes_on, is_down=is_down),
            f"Verify: {_next_commit(point)}no duplicate files, no duplicate rows. What was proven on the branch holds "
            "on main, and no evidence finds a fault any more.",
            *(f"One fault is older than the repair and stays: {fault}" for fault in left),
        ),
        sure=f"Consumers see the repair from then on: {' and '.join(said)}."
        + (f" The job stays down, because {goes_on.because}." if is_down else "")
        + (" The table stays under review for another fault." if left else ""),
        undo=_undo(kept, done, keeps, is_started=point is not None or is_looked_for),
        because=done.because,
        code=done.code,
        repairs=() if left or plan.rehearsed is None else plan.rehearsed.proposal.repairs,
    )


def _next_commit(point: RestorePoint | None) -> str:
    if point is None:
        return ""
    return f"the next commit is of a later checkpoint than {point.checkpoint_id}, on top of the repair, "


def _moved_on(table: TableState, done: Rehearsed) -> Refused:
    newer = list(takewhile(lambda s: s.snapshot_id != done.base, table.chain))
    writers = {s.job_id or s.summary.get("spark.app.id") or s.engine: s for s in reversed(newer)}
    who = " and ".join(committer(s) for s in writers.values())
    is_above = done.base in table.chain_ids
    again = "drop the branch (`/waterline propose drop_repair_branch`), and propose the repair again from the present "
    return Refused(
        f"The repair on branch {done.branch} cannot be published: main has moved on.",
        f"Expected main at {short(done.base)}, where the branch began; it is at {short(table.head)}"
        + (f", committed by {who}." if is_above else ", which does not descend from it."),
        "Stop that writer first, or it ends the next repair as well. It may continue when the repair is published. "
        f"Then {again}head."
        if is_above
        else f"Find out who moved main back. Then {again}head.",
    )


def _condemning(plan: Plan, done: Rehearsed) -> dict[str, SnapshotId]:
    """Tag -> a compaction that says it deleted files which the repair has put back. It stays below main: where main is
    all there is, Iceberg's Java deletes such files when that commit expires, though the table names them again. One
    that has expired already did so while the branch named them, and Java looked at the branch."""
    sources = done.add.sources.removed_by if done.add else ()
    listed = plan.case.observation.table.by_id
    return {f"recovery-{plan.incident}-keeps-{each}": each for each in sources if each in listed}


def _must_be_proven(plan: Plan, done: Rehearsed) -> None:
    """Raises Refused unless the rehearsal's verification passed, at the very snapshot that would be published."""
    proof = plan.rehearsed.verified if plan.rehearsed is not None else None
    if proof is not None and proof.passed and proof.head == done.head:
        return
    if proof is None:
        found = "it was not verified: the verification is still running, or the repair was not done to its end"
    elif not proof.passed:
        failed = (f"{check.name}: {check.sentence}" for check in proof.checks if check.passed is not True)
        found = f"the verification did not pass. {' '.join(failed)}"
    else:
        found = f"the verification was of {short(proof.head)}"
    raise Refused(
        f"The repair on branch {done.branch} is not proven, so it cannot be published.",
        f"Expected a verification of it at {short(done.head)} that passed; found: {found.rstrip('.')}.",
        "Click “Verify again” on the message of the repair's proposal, if it has that button. Else drop the "
        "repair: /waterline propose drop_repair_branch.",
    )


def _left(plan: Plan) -> tuple[str, ...]:
    """What the proof has found on the branch that main had before, sentences."""
    proof = plan.rehearsed.verified if plan.rehearsed is not None else None
    return tuple(check.sentence for check in proof.checks if check.was_before) if proof is not None else ()


def _start(plan: Plan, done: Rehearsed, goes_on: GoesOn, *, is_down: bool) -> tuple[str, ...]:
    """From where the job goes on, or why it is not started, sentences."""
    point = goes_on.point
    if done.stopped is None:
        return ("Start no run, because none was alive when the repair was made.",)
    if is_down:
        return goes_on.stays_down
    if point is None:
        return (
            f"Find the newest state that run {short_job(done.stopped)} left, prove that it pairs with the table, "
            "and start the job from it. If none pairs, nothing is started.",
        )
    return start_in_words(plan, done, point)


def _undo(kept: str, done: Rehearsed, keeps: Mapping[str, SnapshotId], *, is_started: bool) -> str:
    stays = "".join(f" The tag {tag} stays until the files that the repair added again are rewritten." for tag in keeps)
    if done.stopped is None:
        return f"`/waterline undo` moves main back to the tag {kept}. That brings the fault back as well.{stays}"
    stops = "stops the new run, moves" if is_started else "moves"
    return (
        f"`/waterline undo` {stops} main back to the tag {kept} and starts the job from the state of run "
        f"{short_job(done.stopped)}. If that does not pair, the job starts from another point that does, or the "
        f"undo says why none is started. That brings the fault back as well.{stays}"
    )
