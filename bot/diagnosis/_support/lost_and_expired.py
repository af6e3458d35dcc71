"""Whether main may have lost commits that have expired since, with every trace but the last sequence number, and the
way back in main's log."""

from bot.diagnosis._support.case import by_sink, living, time_in
from bot.history.case import Case
from bot.history.other_jobs import OtherJobs, commits_of_job
from bot.history.rollbacks import gone_since, way_back_since
from bot.history.starts import FROM_NOTHING, began_from
from bot.observation.ids import SnapshotId, short
from bot.observation.sentences import counted
from bot.observation.table import Snapshot

SEVERAL = 5
"""Over so many commits a partition of the source may be silent before `missing_positions` asks why."""


def may_be_lost_and_expired(case: Case, checked: SnapshotId | None) -> str | None:
    """What is missing to know that it has not; None: nothing is.

    Evidence covers all up to `checked`, and finds the positions of lost rows missing where the job has brought later
    ones. Above that nothing shows them: expiry deletes the files of what is no ancestor, so that a listing without an
    orphan shows nothing either. It may have been a branch's snapshots; the job's next rows settle it.
    """
    table, settled = case.observation.table, _settled(case, checked)
    if settled is None:
        return None
    if (root := _above_all_rows(case, checked)) is not None:
        return (
            f"whether main lost commits before {short(root.snapshot_id)}: it lists none by which the job brought rows, "
            "and what it had below has expired. They may have been rolled back and expired, with their files. "
            f"{_what_next(case)}"
        )
    if (back := way_back_since(settled, table)) is not None:
        return (
            f"whether main lost commits as it came back to {short(back.snapshot_id)} "
            f"({time_in(case, back.at)}), which its log shows: nothing of what it left is listed any more, "
            f"and no sequence number tells how many there were. They may have been rolled back and expired, with their "
            f"files. {_what_next(case)}"
        )
    gone = gone_since(settled, table)
    if gone <= 0:
        return None
    them = f"{counted(gone, 'snapshot')} newer than {short(settled.snapshot_id)}"
    return (
        f"whether main had {them}, by the sequence numbers, that {'is' if gone == 1 else 'are'} listed no more: they "
        f"may have been rolled back and expired, with their files. {_what_next(case)}"
    )


def _settled(case: Case, checked: SnapshotId | None) -> Snapshot | None:
    """The newest commit below which a lost one would have left a hole: by each sink of the job that writes now, the
    newest with rows up to `checked`; of a source in partitions the `SEVERAL`th newest. Where there is none, the oldest
    on main; None: main has no commit. Compactions, other jobs' commits and Flink's empty ones bring no later
    position."""
    table = case.observation.table
    until = table.place_of(checked)
    mine = [s for s in _surely_of_job(case) if s.adds_rows and table.place_of(s.snapshot_id) <= until]
    many = 1 if case.contract.position_partition is None else SEVERAL
    theirs = [by_sink(mine, sink)[-many:] for sink in {s.operator_id for s in mine if s.job_id == mine[-1].job_id}]
    if not theirs or any(len(each) < many for each in theirs):
        return table.chain[-1] if table.chain else None
    return min((each[0] for each in theirs), key=lambda s: table.place_of(s.snapshot_id))


def _above_all_rows(case: Case, checked: SnapshotId | None) -> Snapshot | None:
    """The oldest commit on main, where what lay below it has expired, and no commit that main lists (up to `checked`,
    where that is one) brought rows of the job: if it was made after a rollback, not even sequence numbers tell. None
    where there is no such doubt, as of a run that began above it without state."""
    table = case.observation.table
    root = table.chain[-1] if table.chain else None
    if root is None or not root.has_commit_below:
        return None
    until = table.place_of(checked if checked is not None else table.head)
    if any(s.adds_rows and table.place_of(s.snapshot_id) <= until for s in _surely_of_job(case)):
        return None
    alive = living(case)
    is_new = [run.started_at > root.committed_at and began_from(run, None) == FROM_NOTHING for run in alive]
    return None if alive and all(is_new) else root


def _surely_of_job(case: Case) -> tuple[Snapshot, ...]:
    """The job's commits without those of runs that Flink does not list although it lists one that had begun by then:
    it forgets the oldest first, so they may be another job's, also under the same sink id, which follows from the uid.
    All of them where it lists no run."""
    other_jobs = OtherJobs(case)
    listed, began = other_jobs.own | other_jobs.related_runs, min((run.started_at for run in case.runs), default=None)
    return tuple(s for s in commits_of_job(case) if began is None or s.job_id in listed or s.committed_at < began)


def _what_next(case: Case) -> str:
    if case.observation.jobs.state == "not-seen" or living(case):
        named = case.contract.position_partition
        return f"Ask again when the job has committed rows{'' if named is None else f' {SEVERAL} times more'}"
    return (
        "No run is alive to commit. Look who has moved main, and start the job from a restore point that carries the "
        "very checkpoint of main's newest commit (`/waterline run checkpoint_pairing` lists them). Ask again then"
    )
