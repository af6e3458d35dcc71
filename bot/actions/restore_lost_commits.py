"""Put commits back that were taken off main: set main forward where nothing came on top, else add their files again.

Commits whose part of the source was read and committed again since are left out: they would double the rows.
"""

from collections.abc import Sequence

from bot.actions._draft import live_run
from bot.actions._foreseen import committer
from bot.actions._read_again import not_read_again
from bot.actions._rehearsing import every, listed, must_not_rise, named, rehearsal, sized, where
from bot.actions._restore_points import pair_with_head
from bot.actions._rewinding import left_behind, rewound
from bot.actions._whose_rows import of_job, of_others, when_written
from bot.domain.action import Action, Plan
from bot.domain.brought_again import said_of_rows
from bot.domain.clock_time import clock_time
from bot.domain.diagnosis import Case
from bot.domain.effects import GoneOn
from bot.domain.errors import Refused
from bot.domain.file_changes import FileSources
from bot.domain.guests import commits_that_bind
from bot.domain.ids import SnapshotId, short, short_job
from bot.domain.other_writers import keeps_its_rows
from bot.domain.proposal import Proposal
from bot.domain.rollbacks import rollbacks
from bot.domain.sentences import counted
from bot.domain.snapshot import OF_OTHERS
from bot.domain.table import Snapshot, TableState

ACTION = Action(
    name="restore_lost_commits",
    title="Restore lost commits",
    promise="The commits that were removed from main are part of it again, once.",
    needs=("ledger", "checkpoint_pairing"),
    proofs=(
        ("duplicate_files", "No file is live twice"),
        ("duplicate_rows", "No row is there twice"),
        ("missing_positions", "No row is missing"),
    ),
    no_more_than_before=("duplicate_files", "duplicate_rows", "missing_positions"),
    moves_waterline="trusted",
)
_FLINK = "flink."
_LOOKS_FOR_A_MANIFEST = "F7"


def propose(plan: Plan) -> Proposal:
    """Main forward, or a rehearsal with the lost files. Raises Refused with the reason, CouldNotLook."""
    table = plan.case.observation.table
    left = _left(plan.case)
    leaf, lost = left[-1], [s for s in left if not keeps_its_rows(table, s) and _changes(s)]
    if table.head in {s.snapshot_id for s in table.ancestors(leaf.snapshot_id)}:
        return _forward(plan, leaf)
    for each in lost:
        if not each.counted("added-data-files"):
            _must_only_add(table, each.snapshot_id)
    wanted, left_out = not_read_again(plan.case, lost)
    for commit in wanted:
        _must_only_add(table, commit)
    survey = plan.survey(FileSources(added_by=wanted), None)
    must_not_rise(survey, "The files of the lost commits")
    if survey.gone or survey.add is None:
        raise Refused(
            f"The files of {listed(wanted)} cannot be added again.",
            f"Expected them whole on storage and not live; missing or cut: {named(survey.gone)}, live already: "
            f"{named(survey.live_already)}.",
            "Restore them from the storage's own versions, or replay the source range.",
        )
    own, put_back = of_job(plan.case, left), [table.by_id[each] for each in wanted]
    found_again, rows = _found_again(plan, own[-1] if own else None), _of_the_job(plan.case, put_back)
    of_them = _of_others(plan.case, put_back)
    assert table.head is not None  # something came on top
    return rehearsal(
        plan,
        ACTION,
        survey,
        title=f"{ACTION.title}: {listed(wanted)}",
        why="Add the lost commits' files again",
        sentences=(
            f"Add {sized(survey.add)}{where(survey)} again, which {every(wanted)} had brought before main was rolled "
            "back. They count as newest; nothing in the table deletes by key.",
            *([f"{named(survey.live_already)} of them stay out: they are live."] if survey.live_already else []),
            *left_out,
        ),
        proof="no file and no row is there twice, no row is missing",
        carries=(found_again or rows) | of_them,
        gone_on=GoneOn(above=table.head, carries=rows | of_them) if found_again else None,
    )


def _forward(plan: Plan, leaf: Snapshot) -> Proposal:
    """Nothing came on top of the rollback: main goes to the newest lost commit, and Flink's ids with it."""
    live, world = live_run(plan), plan.case.observation
    there = world.table.as_of(leaf.snapshot_id, world.table.head_moves)
    case = plan.case.model_copy(update={"observation": world.model_copy(update={"table": there})})
    try:
        point = pair_with_head(case, live)
    except Refused as error:
        happened = f"Main can be set forward to {short(leaf.snapshot_id)}, but the job cannot be started there."
        raise Refused(happened, error.found, error.remedy) from error
    title = f"{ACTION.title}: main forward to {short(leaf.snapshot_id)}"
    proposal = rewound(plan, ACTION, leaf.snapshot_id, point, live, title=title)
    sentences = (_comes_back(left_behind(there, world.table.head)), *proposal.preview.sentences)
    return proposal.model_copy(update={"preview": proposal.preview.model_copy(update={"sentences": sentences})})


def _comes_back(commits: Sequence[Snapshot]) -> str:
    changes = [s for s in commits if s.operation != "replace"]
    added, deleted = (sum(s.counted(key) for s in changes) for key in ("added-records", "deleted-records"))
    taken = f" and takes {deleted:,} away again" if deleted else ""
    return (
        f"Main has {every([s.snapshot_id for s in commits])} again, which brings {counted(added, 'row')} back{taken}."
    )


def _left(case: Case) -> tuple[Snapshot, ...]:
    """The window's commits that left main, oldest first. Raises Refused where none of them changed rows."""
    table = case.observation.table
    told = {each for found in rollbacks(table) if found.is_within(case.window, table) for each in found.left}
    left = tuple(s for s in table.snapshots if s.snapshot_id in told)
    if not any(map(_changes, left)):
        raise Refused(
            "There is no lost commit to restore.",
            "Expected commits of the window that were rolled back and are still listed; found none.",
            "If rows are missing nevertheless, replay their source range.",
        )
    return left


def _changes(commit: Snapshot) -> bool:
    return any(map(commit.counted, ("added-data-files", "deleted-data-files", "added-delete-files")))


def _must_only_add(table: TableState, commit: SnapshotId) -> None:
    snapshot = table.by_id[commit]
    if snapshot.counted("deleted-data-files") or snapshot.counted("added-delete-files"):
        deleted = counted(snapshot.counted("deleted-records"), "row")
        raise Refused(
            f"Lost commit {short(commit)} cannot be restored by its files.",
            f"Expected it only to add data files; it has also taken rows away ({snapshot.operation}, {deleted}).",
            "Replay the source range of the lost rows instead, idempotent by key, and let its writer do its change "
            "again.",
        )


def _of_the_job(case: Case, put_back: Sequence[Snapshot]) -> dict[str, str]:
    written = when_written(case, put_back)
    return said_of_rows((), written) if written else {}


def _of_others(case: Case, put_back: Sequence[Snapshot]) -> dict[str, str]:
    others = of_others(case, put_back)
    return {OF_OTHERS: ",".join(str(each.snapshot_id) for each in others)} if others else {}


def _found_again(plan: Plan, leaf: Snapshot | None) -> dict[str, str]:
    """Flink's keys of the newest lost commit of the job (`leaf`), where it has committed nothing since main was rolled
    back: then a job whose state holds that checkpoint finds it committed, and does not look for a manifest that is gone
    (F7).

    Above commits of another run they would say that the lost run's state pairs with the head, which it does not; above
    newer ones of the same run, that these are not committed.
    Raises Refused there where the job fails for want of them.
    """
    if leaf is None:
        return {}
    table, bound = plan.case.observation.table, commits_that_bind(plan.case)
    known = {s.snapshot_id for s in table.ancestors(leaf.snapshot_id)}
    if bound and bound[-1].snapshot_id not in known:
        if plan.mode.code == _LOOKS_FOR_A_MANIFEST:
            raise _went_on(leaf, bound[-1], table)
        return {}
    return {key: value for key, value in leaf.summary.items() if key.startswith(_FLINK)}


def _went_on(leaf: Snapshot, newest: Snapshot, table: TableState) -> Refused:
    run, at = short_job(leaf.job_id), clock_time(newest.committed_at, table.read_at, seconds=True)
    return Refused(
        "Putting the lost commits back would not let the job restart.",
        f"Expected nothing by the job on main since it was rolled back, so that a run finds checkpoint "
        f"{leaf.checkpoint_id} of run {run} committed; found {short(newest.snapshot_id)}, committed by "
        f"{committer(newest)} at {at}. Above that, a state of run {run} would read its rows again.",
        "Stop the run that fails. Collect checkpoint_pairing again and diagnose: the job is started from a point that "
        "pairs with the head, or rewound together with the table. What is missing then is replayed from the source.",
    )
