"""Put commits back that were taken off main: set main forward where nothing came on top, else add their files again.

Lost commits that were read and committed again since, or may be yet, stay out: source positions tell.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from bot.actions._support.draft import live_run
from bot.actions._support.foreseen import committer
from bot.actions._support.recipes import left_behind, rewound
from bot.actions._support.restore_points import pair_with_head
from bot.actions._support.staging import every, listed, must_not_rise, named, rehearsal, said_of_rows, sized, where
from bot.history.case import Case
from bot.history.other_jobs import commits_that_bind, those_that_bind
from bot.history.other_writers import described_by, keeps_its_rows
from bot.history.rollbacks import rollbacks
from bot.incident.action import Action, Plan
from bot.incident.effects import GoneOn
from bot.incident.proposal import Proposal
from bot.observation.errors import Refused
from bot.observation.file_changes import FileSources
from bot.observation.ids import SnapshotId, short, short_job
from bot.observation.ledger import Sink, SourceRange
from bot.observation.sentences import clock_time, counted
from bot.observation.snapshot import OF_OTHERS
from bot.observation.table import Snapshot, TableState

_BY_KEY = "replay the source range by key"


def not_read_again(case: Case, lost: Sequence[Snapshot]) -> tuple[tuple[SnapshotId, ...], tuple[str, ...]]:
    """(those whose source positions no commit of main has brought since and that the job will not bring, why each of
    the others stays out, a sentence). A job that has committed since the rollback brings by itself what lies above its
    newest position of each source partition. Raises Refused where that cannot be told, and where there is none."""
    told = _positions(case)
    first = (lost[0].sequence_number, lost[0].committed_at)
    since = [
        row.snapshot_id
        for row in (case.ledger.rows if case.ledger else ())
        if row.on_main and row.age > first and row.added_rows and row.sink is not Sink.COMPACTION
    ]
    if any(told.get(each) is None for each in (*since, *(s.snapshot_id for s in lost))):
        raise _cannot_tell("the commit history lacks some, or does not tell them of each source partition")
    later = [(by, brought) for by in since for brought in told[by] or ()]
    own, reached = {s.snapshot_id for s in commits_that_bind(case)}, dict[str | None, int]()
    for brought in (each for by, each in later if by in own):
        reached[brought.partition] = max(brought.high, reached.get(brought.partition, brought.high))
    newest = max(reached.values(), default=0)
    is_hidden = case.contract.hides(case.contract.position)
    came_to = "a position that is not shown" if is_hidden else f"position {newest:,}"
    why, is_coming = dict[SnapshotId, str](), list[SnapshotId]()
    for commit in lost:
        id_, mine = commit.snapshot_id, told[commit.snapshot_id] or ()
        if again := tuple(dict.fromkeys(by for by, brought in later if any(_meet(brought, one) for one in mine))):
            why[id_] = (
                f"Lost commit {short(id_)} stays out: {every(again)} brought source positions of it since, and its "
                "files can only be added whole. This does not restore rows of it that were not read again."
            )
        elif reached and any(one.partition not in reached for one in mine):
            raise _cannot_tell("the job has brought nothing of some of them since, and may have skipped these rows")
        elif reached and any(one.high > reached[one.partition] for one in mine):
            is_coming.append(id_)
            why[id_] = (
                f"Lost commit {short(id_)} stays out: since the rollback the job has committed up to {came_to}. It "
                "will read what lies above by itself."
            )
    if len(why) == len(lost):
        raise _coming_yet(is_coming, came_to) if is_coming else _none_left(tuple(why))
    return tuple(s.snapshot_id for s in lost if s.snapshot_id not in why), tuple(why.values())


def _positions(case: Case) -> dict[SnapshotId, tuple[SourceRange, ...] | None]:
    is_partitioned = case.contract.position_partition is not None
    rows = case.ledger.rows if case.ledger else ()
    return {row.snapshot_id: row.positions(is_partitioned=is_partitioned) for row in rows}


def _meet(one: SourceRange, other: SourceRange) -> bool:
    return one.partition == other.partition and one.low <= other.high and other.low <= one.high


def _cannot_tell(found: str) -> Refused:
    return Refused(
        "It cannot be determined whether the lost commits were read again.",
        f"Expected the source positions of every commit since the rollback; {found}.",
        "Name `position` in the contract and run the evidence “ledger” again. Or find out which rows are missing "
        f"(`/waterline run missing_positions`), then {_BY_KEY}.",
    )


def _coming_yet(lost: Sequence[SnapshotId], reached: str) -> Refused:
    return Refused(
        "The job may still read the rows of the lost commits by itself.",
        "Expected the job to have passed their source positions since the rollback; it has committed up to "
        f"{reached}, and {listed(lost)} reach above that.",
        "Wait until it has passed them. Then run the evidence again (`/waterline run ledger`), and propose this "
        "again if rows are still missing.",
    )


def _none_left(lost: Sequence[SnapshotId]) -> Refused:
    return Refused(
        "The job has read the lost commits again, wholly or in part, and their files can only be added whole.",
        f"Expected source positions that no commit has brought since; some or all of {listed(lost)} are on main.",
        f"Find out whether rows are missing (`/waterline run missing_positions`). Then {_BY_KEY}, or diagnose again.",
    )


_EVER = datetime(1970, 1, 1, tzinfo=UTC)


def _of_job(case: Case, lost: Sequence[Snapshot]) -> Sequence[Snapshot]:
    """Not what another engine or another job committed beside it: the job's state does not know of these."""
    return those_that_bind(case, [each for each in lost if each.job_id is not None and each.checkpoint_id is not None])


def _moments(case: Case, commit: Snapshot) -> Iterator[datetime]:
    """When the job had written its rows, a repair's by what that says itself and a cherry-pick's by its source; at any
    time before it, where that is not listed. None: all are of others."""
    origin = described_by(case.observation.table, commit)
    if origin is None:
        yield from (_EVER, commit.committed_at)
    elif origin.written is not None:
        yield from origin.written
    elif _of_job(case, [origin]) or (origin.is_repair and origin.job_id is not None):
        yield origin.committed_at


def _says_of(case: Case, put_back: Sequence[Snapshot]) -> tuple[dict[str, str], dict[str, str]]:
    """What the summary of the repair says: (when the job had written its rows, which commits brought others')."""
    written = {each.snapshot_id: tuple(_moments(case, each)) for each in put_back}
    origins = {each.snapshot_id: described_by(case.observation.table, each) for each in put_back}
    others = [
        str(id_) for id_, at in written.items() if not at or ((o := origins[id_]) is not None and o.brings_others)
    ]
    moments = [at for told in written.values() for at in told]
    return said_of_rows((), moments) if moments else {}, {OF_OTHERS: ",".join(others)} if others else {}


ACTION = Action(
    name="restore_lost_commits",
    title="Restore lost commits",
    promise="Main has the commits that were removed from it again, each once.",
    needs=("ledger", "checkpoint_pairing"),
    proofs=(
        ("duplicate_files", "No duplicate files"),
        ("duplicate_rows", "No duplicate rows"),
        ("missing_positions", "No missing rows"),
    ),
    no_more_than_before=("duplicate_files", "duplicate_rows", "missing_positions"),
    repairs=("missing_positions",),
    moves_waterline="trusted",
)
_FLINK = "flink."
_LOOKS_FOR_A_MANIFEST = "F7"


def propose(plan: Plan) -> Proposal:
    """Main forward, or a rehearsal with the lost files. Raises Refused with the reason, CouldNotLook."""
    table = plan.case.observation.table
    left = _left(plan.case)
    leaf, lost = left[-1], [s for s in left if _changes(s) and not keeps_its_rows(table, s)]
    if table.head in {s.snapshot_id for s in table.ancestors(leaf.snapshot_id)}:
        return _forward(plan, leaf)
    if not lost:
        raise _nothing_lost()
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
            f"Expected them whole on storage and not live. Missing or cut: {named(survey.gone)}; already live: "
            f"{named(survey.live_already)}.",
            "Restore them from the storage's own versions, or replay the source range.",
        )
    own, found_again = _of_job(plan.case, left), dict[str, str]()
    if own:
        found_again = _found_again(plan, own[-1])
    rows, of_them = _says_of(plan.case, [table.by_id[each] for each in wanted])
    assert table.head is not None  # something came on top
    return rehearsal(
        plan,
        ACTION,
        survey,
        title=f"{ACTION.title}: {listed(wanted)}",
        why="Add the lost commits' files again",
        sentences=(
            f"Add {sized(survey.add)}{where(survey)} again, which {every(wanted)} had added before main was rolled "
            "back. They count as newest, and nothing in the table deletes by key.",
            *(
                [f"{named(survey.live_already)} of them stay out, because they are live."]
                if survey.live_already
                else []
            ),
            *left_out,
        ),
        proof="no duplicate files, no duplicate rows, no missing rows",
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
        happened = f"Main can be moved forward to {short(leaf.snapshot_id)}, but the job cannot be started there."
        raise Refused(happened, error.found, error.remedy) from error
    title = f"{ACTION.title}: main forward to {short(leaf.snapshot_id)}"
    back = _comes_back(left_behind(there, world.table.head))
    return rewound(plan, ACTION, leaf.snapshot_id, point, live, title=title, first=(back,))


def _comes_back(commits: Sequence[Snapshot]) -> str:
    changes = [s for s in commits if s.operation != "replace"]
    added, deleted = (sum(s.counted(key) for s in changes) for key in ("added-records", "deleted-records"))
    taken = f" and removes {deleted:,} again" if deleted else ""
    return f"Main has {every([s.snapshot_id for s in commits])} again. That brings {counted(added, 'row')} back{taken}."


def _left(case: Case) -> tuple[Snapshot, ...]:
    """The window's commits that left main, oldest first. Raises Refused where none of them changed rows."""
    table = case.observation.table
    told = {each for found in rollbacks(table) if found.is_within(case.window, table) for each in found.left}
    left = tuple(s for s in table.snapshots if s.snapshot_id in told)
    if not any(map(_changes, left)):
        raise _nothing_lost()
    return left


def _nothing_lost() -> Refused:
    return Refused(
        "There is no lost commit to restore.",
        "Expected commits of the window that were rolled back and are still listed; found none.",
        "If rows are missing anyway, replay their source range.",
    )


def _changes(commit: Snapshot) -> bool:
    return any(map(commit.counted, ("added-data-files", "deleted-data-files", "added-delete-files")))


def _must_only_add(table: TableState, commit: SnapshotId) -> None:
    snapshot = table.by_id[commit]
    if snapshot.counted("deleted-data-files") or snapshot.counted("added-delete-files"):
        deleted = counted(snapshot.counted("deleted-records"), "row")
        raise Refused(
            f"Lost commit {short(commit)} cannot be restored by its files alone.",
            f"Expected it only to add data files; it also removed rows ({snapshot.operation}, {deleted}).",
            "Replay the source range of the lost rows by key instead, and let its writer repeat its change.",
        )


def _found_again(plan: Plan, leaf: Snapshot) -> dict[str, str]:
    """Flink's keys of the newest lost commit of the job (`leaf`), where it has committed nothing since main was rolled
    back: then a job whose state holds that checkpoint finds it committed, and does not look for a manifest that is gone
    (F7).

    Above commits of another run they would say that the lost run's state pairs with the head, which it does not; above
    newer ones of the same run, that these are not committed.
    Raises Refused there where the job fails for want of them.
    """
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
        "The job could not restart even if the lost commits were restored.",
        f"To find checkpoint {leaf.checkpoint_id} of run {run} committed, the job must not have committed since the "
        f"rollback of main. Found {short(newest.snapshot_id)}, committed by {committer(newest)} at {at}. From a "
        f"state of run {run} the job would read its rows again.",
        "Stop the failing run. Collect checkpoint_pairing again and diagnose. Then start the job from a point that "
        "pairs with the head, or roll back table and job. Replay from the source what is still missing.",
    )
