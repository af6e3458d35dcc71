"""The one recipe that moves table and job together: stop the run, move `main` by compare-and-swap, start from M."""

from collections.abc import Sequence

from bot.actions._claimed import may_go, said_of
from bot.actions._draft import (
    NOTHING_STOPPED,
    alone,
    drafted,
    job_and_head,
    others_to_pause,
    readers_of,
    state_at_risk,
    stop_sentences,
)
from bot.actions._other_rows import in_words
from bot.actions._restore_points import RestorePoint, nearer_unread
from bot.domain.action import Action, Plan
from bot.domain.effects import Effect, MoveTable, StartJob, StopJob
from bot.domain.flink import JobRun
from bot.domain.ids import SnapshotId, short, short_job
from bot.domain.proposal import OtherRows, Preview, Proposal
from bot.domain.requirements import HeadDescends, Requirement, RestorePointIntact, SnapshotPresent, TableIs
from bot.domain.table import Snapshot, TableState

NONE_WAS_ALIVE = "Start no run: none was alive before."


def rewound(
    plan: Plan,
    action: Action,
    to: SnapshotId,
    point: RestorePoint | None,
    live: JobRun | None,
    *,
    title: str,
    unstarted: str = NONE_WAS_ALIVE,
    others: Sequence[OtherRows] = (),
) -> Proposal:
    """Stop `live`, by a cancel where `point` is a checkpoint that Flink keeps only then; move main to `to`, start from
    `point`, which pairs with it. None: no run is started, and `unstarted` says why and what people do. `others`: rows
    that go as well and are not read again. Raises Refused where no job is configured."""
    table = plan.case.observation.table
    job, head = job_and_head(plan, action)
    kept = f"{plan.incident}-left-{plan.proposal[-4:].lower()}"
    keeps = point is not None and point.goes_with_savepoint
    owned = may_go(live, point.path) if point is not None and not keeps else None
    stop = [StopJob(job=job, job_id=live.job_id, keeps_checkpoints=keeps, may_delete=owned)] if live else []
    effects: list[Effect] = [*stop]
    effects.append(MoveTable(table=table.name, to=to, keep_head_as=kept))
    requirements: list[Requirement] = [
        TableIs(uuid=table.uuid),
        alone(job, live),
        HeadDescends(head=head, job_id=live.job_id if live else None),
        SnapshotPresent(snapshot_id=to),
    ]
    if point is not None:
        effects.append(StartJob(job=job, path=point.path, checkpoint_id=point.checkpoint_id, on_top_of=to))
        requirements.append(
            RestorePointIntact(job=job, path=point.path, checkpoint_id=point.checkpoint_id, digest=point.digest)
        )
    return drafted(
        plan,
        action,
        title=title,
        effects=effects,
        requirements=requirements,
        preview=_preview(plan, to, point, live, unstarted, others),
        undo=_undo(kept, point, live),
    )


def _of_others(others: Sequence[OtherRows]) -> str:
    rows, back = sum(each.rows for each in others), sum(each.taken_out for each in others)
    told = f" {rows:,} rows of other writers are not read again." if rows else ""
    return told + (f" {back:,} rows that had been taken out return." if back else "")


def left_behind(table: TableState, to: SnapshotId | None) -> tuple[Snapshot, ...]:
    """The commits on main after `to`, oldest first; all of main's when `to` is not an ancestor."""
    kept = {s.snapshot_id for s in table.ancestors(to)}
    return tuple(s for s in reversed(table.chain) if s.snapshot_id not in kept)


def _undo(kept: str, point: RestorePoint | None, live: JobRun | None) -> str:
    stays = f"The state that is left behind stays readable under the tag {kept}."
    stop = "stops the new run, " if point is not None else ""
    if live is None:
        return f"{stays} `/waterline undo` {stop}moves main back to that tag and starts no run, as none was alive."
    is_kept = point is not None and point.goes_with_savepoint
    left = "while storage has a checkpoint" if is_kept else "if its stop could take a savepoint"
    return (
        f"{stays} `/waterline undo` {stop}moves main back to that tag and starts the job from the state of run "
        f"{short_job(live.job_id)}, {left} that pairs."
        + (" That brings the fault back, too." if point is None or point.is_right else "")
    )


def _preview(
    plan: Plan,
    to: SnapshotId,
    point: RestorePoint | None,
    live: JobRun | None,
    unstarted: str,
    others: Sequence[OtherRows],
) -> Preview:
    table = plan.case.observation.table
    left = left_behind(table, to)
    keeps = point is not None and point.goes_with_savepoint
    brought = [s for s in left if s.operation != "replace"]  # a compaction writes again what others brought
    rows = sum(s.counted("added-records") for s in brought)
    sentences = [
        *others_to_pause(plan, until="main has moved"),
        *(said_of(live, point.path) if point is not None and not keeps else ()),
        *(nearer_unread(plan.case, point) if point is not None else ()),
        *(stop_sentences(live, keeps_checkpoints=keeps) if live else [NOTHING_STOPPED]),
        *(["What that run commits until it stands still is taken off main as well."] if live else []),
        f"Move main of {table.name} to snapshot {short(to)} in one commit that is refused if "
        "anything unforeseen was committed; the present head stays readable under a tag.",
        *(
            [
                f"That takes off main as well, and it is not read again by the job: {in_words(others)}. It stays "
                "readable under that tag alone, until its writer writes it again."
            ]
            if others
            else []
        ),
    ]
    if point is None:
        sentences.append(unstarted)
        restarts = "no run is started"
    else:
        sentences += [
            f"Start the job from checkpoint {point.checkpoint_id} at {point.path}; its source re-reads everything "
            "after it.",
            f"Verify: the next commit comes after checkpoint {point.checkpoint_id}, on top of {short(to)}"
            + (
                f", no row is there twice{'' if any(each.rows for each in others) else ', no row is missing'}."
                if point.is_right
                else "."
            )
            + (" The table stays under review then: what others had written or mended is not there." if others else ""),
        ]
        restarts = f"the job restarts from checkpoint {point.checkpoint_id}"
    return Preview(
        commits=len(left),
        files=sum(s.counted("added-data-files") for s in brought),
        rows=rows,
        replayed_from=point.checkpoint_id if point else None,
        affected_runs=readers_of(plan, left),
        readers_known=plan.case.observation.reads.state == "seen",
        sure=f"{rows:,} rows leave main of {table.name}, and {restarts}."
        + _of_others(others)
        + ("" if keeps else state_at_risk(live)),
        sentences=tuple(sentences),
        others=tuple(others),
    )
