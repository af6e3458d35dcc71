"""F26: a commit was made, and then overwritten in the catalog: main never shows that it was there.

A writer commits on an old base past the catalog's check (apache/iceberg #9753), somebody sets the catalog back to an
older metadata file (#1944), or its database is restored from a backup. Flink takes the commit for made and deletes its
manifest. Nothing in the table's history tells: the next commit bears the same sequence number. Only the metadata file
that nobody names any more does.
"""

from bot.diagnosis._support.asked import answers, unasked
from bot.diagnosis._support.case import time_in
from bot.history.case import Case
from bot.history.other_writers import name_of
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.ids import short, short_job
from bot.observation.looked import NotSeen, Seen
from bot.observation.sentences import counted
from bot.observation.table import Snapshot, UnnamedCommit

MODE = Mode(
    code="F26",
    name="commit_overwritten",
    title="a commit was overwritten in the catalog",
    needs=(),
    asks_for=("missing_positions",),
    false_positives=("The job was started from an older state since, and read the rows again: count positions.",),
    neighbours={
        "F10": "There the catalog points to a file that is gone. Here it names a good one, which leaves a commit out.",
        "F18": "There nobody ever wrote the rows. Here files of a commit hold them.",
    },
    act=Act.REPAIR,
    remedies=(Remedy.REPLAY_SOURCE_RANGE,),
)


def overwritten(case: Case) -> tuple[UnnamedCommit, ...]:
    """Commits of the job that no metadata names any more though their run went on above, oldest first: it took them for
    made. One that was refused and tried again is on main under its checkpoint. None where positions were counted, and
    none is missing: the rows came again."""
    seen, table = case.observation.unnamed_commits, case.observation.table
    if _has_every_position(case):
        return ()
    listed = {(s.job_id, s.operator_id, s.checkpoint_id) for s in table.snapshots}
    found = [
        each
        for each in (seen.values if seen is not None else ())
        if (made := each.commit).job_id is not None
        and (made.job_id, made.operator_id, made.checkpoint_id) not in listed
        and any(
            (s.job_id, s.operator_id) == (made.job_id, made.operator_id)
            and (s.checkpoint_id or 0) > (made.checkpoint_id or 0)
            for s in table.of_flink
        )
    ]
    return tuple(sorted(found, key=lambda each: each.commit.committed_at))


def _has_every_position(case: Case) -> bool:
    gaps = case.gaps
    return gaps is not None and gaps.has_positions and not gaps.missing and answers(case, "missing_positions")


def examine(case: Case) -> Examined:
    """Matches unless the rows are proven to be there: positions were counted, and none is missing."""
    if lost := overwritten(case):
        return _matches(case, lost)
    if (untold := _not_looked_at(case)) is not None and not _has_every_position(case):
        counts = unasked(case, "missing_positions") if case.contract.position is not None else ()
        return CannotTell(missing=(untold,), asks=counts)
    return Excluded(reason="No metadata file that the catalog has passed over holds rows of the job that are missing.")


def _not_looked_at(case: Case) -> str | None:
    """What of the table's metadata folder nobody has looked at; None: nothing."""
    match case.observation.unnamed_commits:
        case NotSeen() as unseen:
            return f"{unseen.source}: {unseen.reason} {unseen.remedy}"
        case None:
            return "whether the table's metadata folder holds a commit that no metadata names: nobody has looked"
        case Seen(unread=unread):
            return f"whether they hold a commit that was overwritten: {unread}" if unread is not None else None


def _matches(case: Case, lost: tuple[UnnamedCommit, ...]) -> Matches:
    first = lost[0]
    made, by = first.commit, _instead(case, first.commit)
    whole = "all of them whole on storage" if not first.unreadable else f"{first.unreadable} of them gone or cut"
    base = f"snapshot {made.parent_id}" if made.parent_id is not None else "no snapshot"
    reasons = [
        f"{first.path} names it, and neither the catalog nor a later metadata file names that file.",
        f"It was committed at {time_in(case, made.committed_at)} with {counted(first.files, 'file')} and "
        f"{counted(made.counted('added-records'), 'row')}, {whole}.",
        _who(case, made, by),
        *([f"{counted(len(lost) - 1, 'more commit')} went the same way."] if len(lost) > 1 else []),
        "To bring the rows back by hand, register the file as a table of its own (`CALL system.register_table`).",
        f"Append what its snapshot {made.snapshot_id} added after {base}. Then drop that table without `PURGE`.",
        "First find out who wrote past the catalog's check: else it happens again.",
    ]
    return Matches(
        headline=f"Checkpoint {made.checkpoint_id} of run {short_job(made.job_id)} was committed as "
        f"{short(made.snapshot_id)}, and overwritten in the catalog{f' by {short(by.snapshot_id)}' if by else ''}.",
        reasons=tuple(reasons),
        rows=(by.snapshot_id,) if by is not None else (),
        last_good=made.parent_id if made.parent_id in case.observation.table.chain_ids else None,
        remedy=Remedy.REPLAY_SOURCE_RANGE,
        how="replay its rows from the source, or bring them back by hand from the metadata file that names it",
    )


def _instead(case: Case, made: Snapshot) -> Snapshot | None:
    """The commit of main that was made on the same base, or on what lay below it."""
    return next((s for s in reversed(case.observation.table.chain) if s.parent_id == made.parent_id), None)


def _who(case: Case, made: Snapshot, by: Snapshot | None) -> str:
    if by is None:
        return "No commit of main was made on the same base: the catalog was set back further, by whom does not show."
    run = f"run {short_job(by.job_id)}, checkpoint {by.checkpoint_id}" if by.job_id is not None else name_of(by)
    how = (
        "Its refresh failed, or the catalog was set back before it" if by.job_id == made.job_id else "It did not check"
    )
    return (
        f"{short(by.snapshot_id)} ({run}, {time_in(case, by.committed_at)}) was made on the same base, as if "
        f"{short(made.snapshot_id)} were not there. {how}."
    )
