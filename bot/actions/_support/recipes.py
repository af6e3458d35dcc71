"""The recipes of a restart: one moves table and job together (stop the run, move `main` by compare-and-swap, start from
M), two leave the table as it is (start from a point that pairs with it, or from what the stop leaves).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bot.actions._support.draft import (
    NOTHING_STOPPED,
    alone,
    drafted,
    job_and_head,
    others_to_pause,
    readers_of,
    state_at_risk,
    stop_sentences,
)
from bot.actions._support.restore_points import nearer_unread, pair_with_head
from bot.history.other_writers import described_by, name_of
from bot.history.prediction import not_brought_again
from bot.history.ranking import for_start
from bot.history.restore import RestorePoint, Restores, lists_none_of
from bot.incident.action import Action, Plan
from bot.incident.effects import Effect, MoveTable, Owed, StartFromStop, StartJob, StopJob
from bot.incident.proposal import (
    HeadDescends,
    OtherRows,
    Proposal,
    Requirement,
    RestorePointIntact,
    SnapshotPresent,
    returns,
)
from bot.observation.errors import Refused
from bot.observation.flink import JobRun
from bot.observation.ids import SnapshotId, short, short_job
from bot.observation.paths import may_be_same
from bot.observation.sentences import counted
from bot.observation.table import Snapshot, TableState

ENDED_BY = (
    "Any commit before the start ends this proposal, except compactions and commits of other Flink jobs that wrote "
    "concurrently."
)
_OFF_TOO = (
    " This also removes the pending files that the start committed, and no later start from this point commits "
    "them again. The job then starts from a point that pairs with main, and reads these rows again."
)


def start_from(job: str, point: RestorePoint, on: SnapshotId) -> tuple[StartJob, RestorePointIntact]:
    """The start from `point`, with main at `on`, and that the point is as it was read."""
    owes = Owed(checkpoint_id=point.owes, head=on) if point.owes is not None else None
    start = StartJob(
        job=job,
        path=point.path,
        checkpoint_id=point.checkpoint_id,
        on_top_of=on if owes is None else None,
        owes=owes,
    )
    return start, RestorePointIntact(job=job, path=point.path, checkpoint_id=point.checkpoint_id, digest=point.digest)


class _Stop(NamedTuple):
    """How `live` is stopped for what comes of `point`."""

    effects: tuple[StopJob, ...]
    look_up: tuple[str, ...]
    """What the approvers look up before, and what happens if the point is gone."""
    sentences: tuple[str, ...]
    risk: str
    """For the last question before a yes."""


def _stop(job: str, live: JobRun | None, point: RestorePoint | None) -> _Stop:
    """By a cancel where `point` is a checkpoint that Flink keeps only then. It may delete one that the run owns."""
    if live is None:
        return _Stop((), (), (NOTHING_STOPPED,), "")
    keeps = point is not None and point.goes_with_savepoint
    owned = point.path if point is not None and not keeps and live.may_own(point.path) else None
    look_up = (
        f"Before you approve: run {short_job(live.job_id)} may own {owned}. Was it restored in CLAIM mode "
        "(execution.state-recovery.claim-mode)? Flink does not show that. In CLAIM mode, Flink deletes that "
        "restore point when the run ends. Then first copy the savepoint's folder next to it, under a name that "
        "begins with savepoint-. Collect evidence again and propose from the copy. If the restore point is gone "
        "after the stop, the proposal ends there: main is not moved and no run is started.",
    )
    return _Stop(
        (StopJob(job=job, job_id=live.job_id, keeps_checkpoints=keeps, may_delete=owned),),
        look_up if owned is not None else (),
        stop_sentences(live, keeps_checkpoints=keeps),
        "" if keeps else state_at_risk(live),
    )


def started_on_head(
    plan: Plan, action: Action, point: RestorePoint, live: JobRun | None, *, first: tuple[str, ...] = ()
) -> Proposal:
    """Stop `live` if there is one, then start from `point`, which pairs with the head, or owes it files that the sink
    commits first. A run that commits until it stands still supersedes it: the point would no longer fit. A compaction
    or another job's commit does not. `first`: what an approver must know before. Raises Refused where no job is
    configured."""
    job, head = job_and_head(plan, action)
    stop, (start, intact) = _stop(job, live, point), start_from(job, point, head)
    if point.owes is None:
        fits = f"It pairs with {short(point.snapshot_id)}: the source continues where the table ends."
        then = f"the next commit is of a later checkpoint than {point.checkpoint_id}, on top of {short(head)}"
    else:
        fits = (
            "It holds files that were never committed to the table. All of them are on storage, and the sink commits "
            "them first."
        )
        then = (
            f"the pending files are committed after {short(head)}, the job continues after checkpoint "
            f"{point.checkpoint_id}"
        )
    return drafted(
        plan,
        action,
        title=f"{action.title}: from checkpoint {point.checkpoint_id}",
        effects=(*stop.effects, start),
        requirements=(
            alone(job, live),
            kept_for_start(plan, job, head, point),
            SnapshotPresent(snapshot_id=point.snapshot_id),
            intact,
        ),
        sentences=(
            *first,
            *stop.look_up,
            *nearer_unread(plan.case, point),
            *for_start(plan.case).passed_over(point.path),
            *stop.sentences,
            f"Leave the table as it is, with head {short(head)}. {ENDED_BY}",
            f"Start the job from checkpoint {point.checkpoint_id} at {point.path}, under a new job id. {fits}",
            f"Verify: {then}, no duplicate rows, no missing rows.",
        ),
        sure=f"The job restarts from checkpoint {point.checkpoint_id}; the table does not change.{stop.risk}",
        replayed_from=point.checkpoint_id,
        undo=_undo_of_start(live, point) + (_OFF_TOO if point.owes is not None else ""),
    )


def started_on_pair(plan: Plan, action: Action, live: JobRun | None, *, first: tuple[str, ...] = ()) -> Proposal:
    """The same from the newest point that pairs with the head. Raises as `pair_with_head`."""
    return started_on_head(plan, action, pair_with_head(plan.case, live), live, first=first)


def kept_for_start(plan: Plan, job: str, head: SnapshotId, point: RestorePoint) -> HeadDescends:
    """That nobody commits on `head` before the start from `point` but those whose commits do not matter to it."""
    stored = plan.case.observation.checkpoints.values
    wrote = next((each.job_id for each in stored if may_be_same(each.path, point.path)), None)
    return HeadDescends(head=head, job_id=None, starts=job if wrote else None, goes_on_from=wrote)


def restarted(plan: Plan, action: Action, live: JobRun | None, *, first: tuple[str, ...] = ()) -> Proposal:
    """From what the stop of `live` leaves, if it can take a savepoint and its commits tell with what that pairs; else
    from the newest point that pairs with the head. `first`: what an approver must know before. Raises as
    `pair_with_head`."""
    if live is None or not live.is_settled or lists_none_of(live.job_id, plan.case.observation.table):
        return started_on_pair(plan, action, live, first=first)
    return _started_from_stop(plan, action, live, first)


def _started_from_stop(plan: Plan, action: Action, live: JobRun, first: tuple[str, ...]) -> Proposal:
    """Stop `live`, prove that what it leaves pairs with the head, start from there."""
    job, head = job_and_head(plan, action)
    run = short_job(live.job_id)
    return drafted(
        plan,
        action,
        title=f"{action.title}: run {run}",
        effects=(
            StopJob(job=job, job_id=live.job_id, needs_state=True),
            StartFromStop(job=job, job_id=live.job_id),
        ),
        requirements=(alone(job, live), HeadDescends(head=head, job_id=live.job_id, starts=job)),
        sentences=(
            *first,
            *stop_sentences(live, needs_state=True),
            f"Its last commit stays on main of {plan.case.observation.table.name}; nothing is removed.",
            f"Find the newest state that run {run} left, and prove that it pairs with the head. If none does, nothing "
            "is started and the proposal ends as refused.",
            "Start the job from that state, under a new job id.",
            "Verify: the next commit is of a later checkpoint, on top of the head, no duplicate rows, no missing rows.",
        ),
        sure=f"Run {run} is stopped, and the job restarts from its last state. No rows are removed.",
        undo=_undo_of_start(live, None),
    )


def _undo_of_start(live: JobRun | None, point: RestorePoint | None) -> str:
    takes_off = "`/waterline undo` stops the new run and removes what it committed from main."
    return f"{takes_off} {_undo_of_stop(live, point)}" + (" The job then reads those rows again." if live else "")


def _undo_of_stop(live: JobRun | None, point: RestorePoint | None) -> str:
    if live is None:
        return "It starts no run, because none was alive."
    is_kept = point is not None and point.goes_with_savepoint
    left = "storage still has a checkpoint" if is_kept else "its stop left a savepoint"
    return f"It starts the job from the state of run {short_job(live.job_id)} if {left} that matches the table."


_REPAIRS = "approved repairs"


def rows_of_others(plan: Plan, left: Sequence[Snapshot], point: RestorePoint) -> tuple[OtherRows, ...]:
    """Of the commits that leave main those whose rows a job started from `point` does not bring again, by writer,
    oldest first."""
    restores, found = Restores(plan.case), dict[str, list[Snapshot]]()
    table = restores.table
    for each in not_brought_again(restores, left, point, plan.match.wrong_run):
        found.setdefault(_REPAIRS if each.is_repair else name_of(each), []).append(each)
    return tuple(
        OtherRows(
            writer=writer,
            commits=tuple(s.snapshot_id for s in commits),
            rows=sum(_rows_of(table, s, point) for s in commits),
            taken_out=sum(max(s.rows_taken_out - s.counted("added-records"), 0) for s in commits),
        )
        for writer, commits in found.items()
    )


def _rows_of(table: TableState, commit: Snapshot, point: RestorePoint) -> int:
    """Of a repair that put back commits of the job, too, and of a pick of it, only the others'; all of it where those
    are not listed, or the point holds rows of Flink's that it brought."""
    others = (described_by(table, commit) or commit).of_others
    there = [table.by_id[each] for each in others if each in table.by_id]
    is_known = bool(there) and len(there) == len(others) and commit.snapshot_id not in point.rewind_loses
    return sum(s.counted("added-records") for s in (there if is_known else [commit]))


def in_words(others: Sequence[OtherRows]) -> str:
    """`3 rows in 1 commit of spark application local-17 (912345)`, writer by writer."""
    return " and ".join(
        f"{counted(each.rows, 'row')} in {counted(len(each.commits), 'commit')} of {each.writer} "
        f"({_named(each.commits)}{returns(each)})"
        for each in others
    )


def _named(commits: Sequence[SnapshotId]) -> str:
    if len(commits) <= 3:
        return ", ".join(short(each) for each in commits)
    return f"{short(commits[0])} to {short(commits[-1])}"


def must_be_chosen(plan: Plan, others: Sequence[OtherRows]) -> None:
    """Raises Refused where rows of others would go and whoever proposes has not said so."""
    if others and not plan.drops_others:
        ask = "Talk to those writers. " if any(each.writer != _REPAIRS for each in others) else ""
        raise Refused(
            "This rollback would remove rows of other writers from main, and the job does not read them again.",
            f"Expected only commits of the job above that point; found {in_words(others)}.",
            f"{ask}Can the rows be written again (those of a repair by a replay from the source), or may they go? "
            "Then type `/waterline propose roll_back_table_and_restore_job drop_others=yes`. Else repair by key: "
            "`/waterline propose deduplicate_rows`.",
        )


NONE_WAS_ALIVE = "Start no run, because none was alive."


def rewound(
    plan: Plan,
    action: Action,
    to: SnapshotId,
    point: RestorePoint | None,
    live: JobRun | None,
    *,
    title: str,
    first: tuple[str, ...] = (),
    unstarted: str = NONE_WAS_ALIVE,
    others: Sequence[OtherRows] = (),
    passed: Sequence[str] = (),
) -> Proposal:
    """Stop `live`, move main to `to`, start from `point`, which pairs with it. None: no run is started, and `unstarted`
    says why and what people do. `first`: what an approver must know before. `others`: rows that go as well and are not
    read again. `passed`: why newer restore points are not taken, sentences. Raises Refused where no job is configured.
    """
    table = plan.case.observation.table
    job, head = job_and_head(plan, action)
    kept, stop = f"{plan.incident}-left-{plan.proposal[-4:].lower()}", _stop(job, live, point)
    effects: list[Effect] = [*stop.effects, MoveTable(table=table.name, to=to, keep_head_as=kept)]
    requirements: list[Requirement] = [
        alone(job, live),
        HeadDescends(head=head, job_id=live.job_id if live else None),
        SnapshotPresent(snapshot_id=to),
    ]
    if point is not None:
        start, intact = start_from(job, point, to)
        effects.append(start)
        requirements.append(intact)
    left = left_behind(table, to)
    brought = [s for s in left if s.operation != "replace"]  # a compaction writes again what others brought
    rows = sum(s.counted("added-records") for s in brought)
    restarts = f"the job restarts from checkpoint {point.checkpoint_id}" if point else "no run is started"
    stays = f"The present head stays readable under the tag {kept}."
    back = f"`/waterline undo` {'stops the new run and ' if point else ''}moves main back to that tag."
    is_fault_back = live is not None and (point is None or point.is_right)
    also = "Later commits of this run are removed too. " if live else ""
    return drafted(
        plan,
        action,
        title=title,
        effects=effects,
        requirements=requirements,
        commits=len(left),
        files=sum(s.counted("added-data-files") for s in brought),
        rows=rows,
        replayed_from=point.checkpoint_id if point else None,
        affected_runs=readers_of(plan, left),
        sentences=(
            *first,
            *others_to_pause(plan, until="main has moved"),
            *stop.look_up,
            *(nearer_unread(plan.case, point) if point is not None else ()),
            *passed,
            *stop.sentences,
            f"Move main of {table.name} to snapshot {short(to)} in one commit. {also}If anybody "
            "else commits before, nothing is moved.",
            *_others_go(others),
            *(_started(point, to, others) if point is not None else [unstarted]),
        ),
        sure=f"{rows:,} rows are removed from main of {table.name}, and {restarts}.{_of_others(others)}{stop.risk}",
        others=tuple(others),
        undo=f"{stays} {back} {_undo_of_stop(live, point)}"
        + (" The fault is back then as well." if is_fault_back else ""),
    )


def _others_go(others: Sequence[OtherRows]) -> Iterator[str]:
    if others:
        yield (
            f"This also removes from main, and the job does not read again: {in_words(others)}. These rows stay "
            "readable only under that tag, until their writer writes them again."
        )


def _started(point: RestorePoint, to: SnapshotId, others: Sequence[OtherRows]) -> Iterator[str]:
    yield (
        f"Start the job from checkpoint {point.checkpoint_id} at {point.path}. The source reads everything "
        "after it again."
    )
    verify = f"Verify: the next commit is of a later checkpoint than {point.checkpoint_id}, on top of {short(to)}"
    if point.is_right:
        verify += f", no duplicate rows{'' if any(each.rows for each in others) else ', no missing rows'}"
    stays = " The table then stays under review, because it lacks what others had written or repaired."
    yield f"{verify}.{stays if others else ''}"


def _of_others(others: Sequence[OtherRows]) -> str:
    rows, back = sum(each.rows for each in others), sum(each.taken_out for each in others)
    told = f" The job does not read {rows:,} rows of other writers again." if rows else ""
    return told + (f" {back:,} rows that had been removed return." if back else "")


def left_behind(table: TableState, to: SnapshotId | None) -> tuple[Snapshot, ...]:
    """The commits on main after `to`, oldest first; all of main's when `to` is not an ancestor."""
    kept = {s.snapshot_id for s in table.ancestors(to)}
    return tuple(s for s in reversed(table.chain) if s.snapshot_id not in kept)
