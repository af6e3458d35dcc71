"""The one recipe for repairs of files: stop the job, begin a branch at the head, repair there, prove it there.

Main is not touched. It is published by a second proposal, `publish_repair`, with an approval of its own. The job stands
still meanwhile, because a commit of it on main would make the fast-forward impossible; its savepoint waits for it.
"""

import math
from collections.abc import Collection, Container, Iterable, Mapping, Sequence

from bot.actions._support.draft import (
    NOTHING_STOPPED,
    alone,
    drafted,
    job_and_head,
    live_run,
    others_to_pause,
    stop_sentences,
)
from bot.history.restore import lists_none_of
from bot.incident.action import Action, Plan, StoodStill
from bot.incident.effects import ChangeFiles, Effect, GoneOn, MakeBranch, ReplayRows, StopJob
from bot.incident.proposal import HeadDescends, Proposal, RefIs, Requirement
from bot.observation.contract import TableContract
from bot.observation.errors import NotYet, Refused
from bot.observation.file_changes import FORMATS_WRITTEN, FileList, FileSurvey, Some
from bot.observation.findings import ReplayableFinding
from bot.observation.flink import JobRun
from bot.observation.ids import CheckpointId, JobId, SnapshotId, short, short_job
from bot.observation.record import Utc
from bot.observation.replay import PositionRange, Replay, ReplayRange, ReplayRecipe, SourceSurvey
from bot.observation.sentences import counted, few
from bot.observation.snapshot import RECOVERED, WRITTEN_FROM, WRITTEN_UNTIL
from bot.observation.table import Snapshot, TableState

_TOLD_BY = {"duplicate_rows": "key", "missing_positions": "position"}
"""Proof -> what the contract must name for it to be told."""
_STANDS = (
    "The job stays stopped until the repair is published or dropped. It is then started only from a state that is "
    "proven to pair with main."
)


def rehearsal(
    plan: Plan,
    action: Action,
    survey: FileSurvey,
    *,
    title: str,
    why: str,
    sentences: Sequence[str],
    proof: str,
    carries: Mapping[str, str] | None = None,
    gone_on: GoneOn | None = None,
) -> Proposal:
    """The repair that `survey` found possible. `sentences` say what is done to the files, `proof` what is asked then,
    `carries` and `gone_on` what its commit says of Flink (see ChangeFiles).

    Raises Refused for a table that cannot be repaired so and while another rehearsal is open, CouldNotLook when Flink
    was not seen.
    """
    change = ChangeFiles(
        table=plan.case.observation.table.name,
        branch=branch_for(plan),
        incident=plan.incident,
        why=why,
        add=survey.add,
        remove=survey.remove,
        carries=dict(carries or {}),
        gone_on=gone_on,
    )
    return rehearsal_of(plan, action, change, title=title, sentences=sentences, proof=proof)


def rehearsal_of(
    plan: Plan, action: Action, repair: Effect, *, title: str, sentences: Sequence[str], proof: str
) -> Proposal:
    """The same for any repair on the branch `branch_for` the plan. Raises as above."""
    table = plan.case.observation.table
    must_be_writable(table)
    _must_be_the_only_one(plan)
    _must_be_provable(action, plan.case.contract)
    job, head = job_and_head(plan, action)
    live = live_run(plan)
    branch = branch_for(plan)
    effects: list[Effect] = [StopJob(job=job, job_id=live.job_id, needs_state=True)] if live else []
    effects += [MakeBranch(table=table.name, branch=branch), repair]
    stood = plan.stood_still if live is None else None
    run, waits = live.job_id if live else None, stood.run if stood else None
    requirements: list[Requirement] = [
        alone(job, live),
        HeadDescends(head=head, job_id=run, starts=job, goes_on_from=waits, files_are_named=True),
        RefIs(ref=branch, snapshot_id=None),
    ]
    stands = _STANDS if live or stood else "No run is alive."
    told = (
        *others_to_pause(plan, until="the repair is published or dropped"),
        *(_left_by_stop(plan, live) if live else ()),
        *(stop_sentences(live, needs_state=True) if live else [NOTHING_STOPPED]),
        *((_taken_over(stood),) if stood else ()),
        f"Create branch {branch} at the head of that moment. Main of {table.name} is not changed.",
        *sentences,
        f"Verify on the branch: {proof}.",
        f"Consumers see none of this until a second approval publishes it. {stands}",
    )
    return drafted(
        plan,
        action,
        title=title,
        effects=effects,
        requirements=requirements,
        sentences=told,
        sure=f"{'The job is stopped, and the' if live else 'The'} repair is made on branch {branch}. Main does not "
        "change before a second approval.",
        undo=(
            f"Main is unchanged. Propose drop_repair_branch to remove branch {branch}"
            + (" and to start the job again from a state that then pairs with main." if live or stood else ".")
        ),
    )


def _left_by_stop(plan: Plan, live: JobRun) -> tuple[str, ...]:
    """What an approver must know of a run that has committed nothing. It is stopped nevertheless: going on, it might
    repeat rows, and no repair of main would be left."""
    if not lists_none_of(live.job_id, plan.case.observation.table):
        return ()
    return (
        f"The table lists no commit of run {short_job(live.job_id)}. The job then starts from the newest state that is "
        "proven to pair with main, or stays down. If the whole restart was wrong, roll back table and job instead.",
    )


def _taken_over(stood: StoodStill) -> str:
    return (
        f"An earlier proposal of this incident stopped run {short_job(stood.run)}, and the job has been stopped "
        "since. It stays stopped for this repair."
    )


def must_be_writable(table: TableState) -> None:
    """Raises Refused for a format whose manifests we cannot write."""
    if table.format_version not in FORMATS_WRITTEN:
        raise Refused(
            f"Waterline cannot repair files of {table.name}: the table has format version {table.format_version}.",
            "Expected format version 2 or 3.",
            "Roll back table and job instead, or repair it with the engine that writes the table.",
        )


def _must_be_the_only_one(plan: Plan) -> None:
    """Raises NotYet while the branch of an earlier rehearsal is there: the job may stand still for it, and would not
    be started again by what publishes a second one."""
    open_on = plan.rehearsed.proposal.rehearses_on if plan.rehearsed is not None else None
    if open_on is None or plan.case.observation.table.ref(open_on) is None:
        return
    raise NotYet(
        "Another repair of this incident is still open.",
        f"Expected no branch of an earlier repair; {open_on} exists and is neither published nor dropped.",
        "Publish it (/waterline propose publish_repair) or drop it (/waterline propose drop_repair_branch). Then "
        "propose this again.",
    )


def _must_be_provable(action: Action, contract: TableContract) -> None:
    """Raises Refused where a proof could never be told: what is not proven is never published, and the job would stand
    still for nothing."""
    lacking = [
        (_TOLD_BY[task], name)
        for task, name in action.proofs
        if task in _TOLD_BY and not getattr(contract, _TOLD_BY[task])
    ]
    if lacking:
        names = " and ".join(f"`{column}`" for column, _ in lacking)
        proofs = " and ".join(f"“{name}”" for _, name in lacking)
        raise Refused(
            f"“{action.title}” cannot be verified on its branch, so it could never be published.",
            f"Expected {names} in the table's contract, to check {proofs}; found none.",
            "Name it in the table's contract, restart Waterline and propose again. Or roll back table and job.",
        )


def must_not_rise(survey: FileSurvey, what: str) -> None:
    """Raises Refused where files that are added again would rise above deletes: they get a new sequence number."""
    if survey.has_equality_deletes or survey.delete_files:
        found = "the table deletes rows by key" if survey.has_equality_deletes else "delete files came with them"
        raise Refused(
            f"{what} cannot be added again to this table: {found}.",
            "Expected a table that is only appended to. A file that is added now counts as newer than every "
            "earlier delete, so deleted or old values would reappear.",
            "Replay the source range by key instead.",
        )


def named(files: Some) -> str:
    """`3 files, the first orders/data/a.parquet`."""
    first = f", the first {files.first[0]}" if files.first else ""
    return f"{counted(files.count, 'file')}{first}"


def sized(files: FileList) -> str:
    """`3 files with 1,200 rows`."""
    return f"{counted(files.files, 'file')} with {counted(files.rows, 'row')}"


def where(survey: FileSurvey) -> str:
    """Partitions and ranges of the files, a clause that begins with a blank; empty where nothing tells."""
    parts = []
    if survey.partitions:
        parts.append("in " + ", ".join(survey.partitions))
    parts += [f"{column} {low} to {high}" for column, (low, high) in survey.span.items()]
    return f" ({'; '.join(parts)})" if parts else ""


def every(snapshots: Sequence[int]) -> str:
    """`…421007, …421008`: for what is approved, of which nothing is left out."""
    return ", ".join(map(short, snapshots))


def listed(snapshots: Sequence[int]) -> str:
    """`…421007`, `…421007 and 2 more`: for titles and refusals."""
    return few([short(each) for each in snapshots], 3)


def branch_for(plan: Plan) -> str:
    """The name of its repair's branch, which no earlier one had: evidence, undo and proof find a rehearsal by it."""
    name = f"recovery-{plan.incident}"
    taken = name in plan.branches or plan.case.observation.table.ref(name) is not None
    return f"{name}-{plan.proposal[-4:].lower()}" if taken else name


_LEAVES_ROWS = {"append", "replace"}


def since_the_first_of(table: TableState, commits: Container[SnapshotId]) -> tuple[Snapshot, ...]:
    """Main's commits from the oldest of these on, oldest first; empty where none of them is on main."""
    order = list(reversed(table.chain))
    first = next((number for number, s in enumerate(order) if s.snapshot_id in commits), len(order))
    return tuple(order[first:])


def first_that_took_rows(commits: Iterable[Snapshot]) -> Snapshot | None:
    """The first of these that deleted or overwrote rows: they would come back with the files from before."""
    return next((s for s in commits if s.operation not in _LEAVES_ROWS), None)


def declared_replay(plan: Plan) -> ReplayRecipe:
    """The table's. Raises Refused where none is declared, or where newer rows of the table replace older ones."""
    if plan.replay is None:
        name = plan.case.observation.table.name
        raise Refused(
            f"The rows of {name} cannot be replayed: no replay is declared for it.",
            f"Expected `replay` under `tables.{name}` in the configuration file; found none.",
            "Declare `kafka` there, or `source` and `sql` (a SELECT with the table's columns) or `function` (PySpark). "
            "Restart Waterline, type `/waterline run replayable_rows`, and propose again.",
        )
    _must_be_appended_to(plan)
    return plan.replay


def replay_rehearsal(
    plan: Plan,
    action: Action,
    recipe: ReplayRecipe,
    bounds: ReplayRange,
    found: ReplayableFinding | SourceSurvey,
    *,
    sentences: Sequence[str],
    proof: str,
) -> Proposal:
    """The rehearsal with the rows that `found` lacks, these very ones. Raises as `rehearsal`."""
    contract = plan.case.contract
    replay = Replay(
        recipe=recipe,
        bounds=bounds,
        key=contract.key,
        position=contract.position,
        position_partition=contract.position_partition,
        event_time=contract.event_time,
        rows=found.absent,
        digest=found.digest,
    )

    write = ReplayRows(
        table=plan.case.observation.table.name,
        branch=branch_for(plan),
        incident=plan.incident,
        why="Replay from the source",
        replay=replay,
    )
    return rehearsal_of(
        plan,
        action,
        write,
        title=f"{action.title}: {counted(found.absent, 'row')}",
        sentences=(
            f"Replay {within(bounds, contract)} from the source ({recipe.source}), and write "
            f"{counted(found.absent, 'row')} to the branch.{_span(found, contract)}",
            *sentences,
            "Nothing is written if the source by then returns other rows than it did for this proposal.",
        ),
        proof=proof,
    )


def keys_must_come_once(found: ReplayableFinding | SourceSurvey) -> None:
    """Raises Refused where the source gives a key more than once."""
    if found.repeated:
        raise Refused(
            f"The source returns {counted(found.repeated, 'row')} too many: keys occur twice within the range.",
            "Expected each key once. Waterline does not decide which copy is right.",
            "Make the declared replay choose one row per key, restart Waterline, and run “replayable_rows” again.",
        )


def too_many(found: str, recipe: ReplayRecipe) -> Refused:
    """`found`: how many there are, in words."""
    return Refused(
        f"There are too many rows for a replay by Waterline: {found}.",
        f"Expected at most {recipe.most_rows:,}, as declared in `most_rows`.",
        "Roll back table and job, run a backfill job of your own, or raise `most_rows`.",
    )


def within(bounds: ReplayRange, contract: TableContract) -> str:
    """Bounds as an approver reads them, all of them: `positions 10 to 19 of partition 0`."""
    if not bounds.positions:
        if contract.hides(contract.event_time):
            return "events in a range that is not shown"
        return (
            f"events from {bounds.event_from:%Y-%m-%d %H:%M:%S} until before {bounds.event_until:%Y-%m-%d %H:%M:%S} UTC"
        )
    if contract.hides(contract.position):
        return "positions that are not shown"
    return "positions " + ", ".join(_one(each, contract) for each in bounds.positions)


def _span(found: ReplayableFinding | SourceSurvey, contract: TableContract) -> str:
    """A sentence that begins with a blank: of which time the rows are; empty where that is not told."""
    if contract.hides(contract.event_time) or found.event_from is None or found.event_until is None:
        return ""
    return f" They are events of {found.event_from:%Y-%m-%d %H:%M:%S} to {found.event_until:%Y-%m-%d %H:%M:%S} UTC."


def _must_be_appended_to(plan: Plan) -> None:
    table = plan.case.observation.table
    newest = table.by_id.get(table.head) if table.head is not None else None
    deletes = newest is not None and newest.counted("total-equality-deletes")
    if deletes or table.properties.get("write.upsert.enabled", "").lower() == "true":
        raise Refused(
            f"The rows of {table.name} cannot be replayed one by one: newer rows replace older ones of the same key.",
            "Expected a table that is only appended to. Here a missing key may have been deleted on purpose, and a "
            "missing position may have been replaced.",
            "Roll back table and job instead: the job then writes its rows in their order.",
        )


def _one(each: PositionRange, contract: TableContract) -> str:
    of = (
        f" of partition {contract.shown(contract.position_partition, each.partition)}"
        if each.partition is not None
        else ""
    )
    return (f"{each.first} to {each.last}" if each.first != each.last else f"{each.first}") + of


def said_of_rows(recovered: Iterable[tuple[JobId, CheckpointId]], written: Collection[Utc]) -> dict[str, str]:
    """What the summary of a repair says of the rows that it brings. `recovered`: run and checkpoint of each Flink
    manifest; none where the rows were in the table before. `written`: when Flink had written them, one moment at
    least."""
    ids: dict[JobId, list[CheckpointId]] = {}
    for run, checkpoint in recovered:
        ids.setdefault(run, []).append(checkpoint)
    ranges = ",".join(f"{run}:{min(of_run)}-{max(of_run)}" for run, of_run in sorted(ids.items()))
    moments = [each.timestamp() * 1000 for each in written]
    return {
        **({RECOVERED: ranges} if ranges else {}),
        WRITTEN_FROM: str(math.floor(min(moments))),
        WRITTEN_UNTIL: str(math.ceil(max(moments))),
    }
