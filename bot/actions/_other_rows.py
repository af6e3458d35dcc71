"""What others than the job have committed, which the job does not read again when table and job go back."""

from collections.abc import Sequence, Set

from bot.actions._restore_points import RestorePoint
from bot.domain.action import Plan
from bot.domain.errors import Refused
from bot.domain.guests import Guests
from bot.domain.ids import JobId, SnapshotId, short, short_job
from bot.domain.other_writers import (
    brings_nothing,
    changes_rows_without_flink,
    described_by,
    keeps_its_rows,
    name_of,
)
from bot.domain.proposal import OtherRows, returns
from bot.domain.sentences import counted
from bot.domain.table import Snapshot, TableState

_REPAIRS = "approved repairs"


def rows_of_others(plan: Plan, left: Sequence[Snapshot], point: RestorePoint) -> tuple[OtherRows, ...]:
    """Of the commits that leave main those of each other writer, oldest first, where main goes back to the table state
    of `point`; and the repairs but those whose rows the job reads again. A run is the job's own where Flink names
    it, where it is kin, wrote that state or is the wrong one, and where its sink is the same operator; one that only a
    restore point names, as a folder of savepoints may be others' too, where its commit tells no sink. None that is
    known as a guest's."""
    table, observation, guests = plan.case.observation.table, plan.case.observation, Guests(plan.case)
    own = {run.job_id for run in observation.jobs.values} | guests.kin
    stored = {each.job_id for each in observation.checkpoints.values}
    base = [table.by_id[point.snapshot_id]] if point.snapshot_id in table.by_id else []
    own |= {each for each in (plan.match.wrong_run, *(s.job_id for s in base)) if each is not None}
    sinks = {s.operator_id for s in (*base, *left) if s.job_id in own and s.operator_id is not None}
    found: dict[str, list[Snapshot]] = {}
    going = {s.snapshot_id for s in left}
    for each in left:
        if each.job_id is None:
            is_changed = changes_rows_without_flink(table, each) and not _is_read_again(table, each, own, point)
            is_other = is_changed or _stays_gone(table, each, point, going)
        else:
            is_like = each.job_id in stored if each.operator_id is None else each.operator_id in sinks
            is_own = each.job_id in own or (is_like and not guests.has_run(each.job_id))
            is_other = each.brings_others or not (is_own or each.is_repair or keeps_its_rows(table, each))
        if is_other:
            found.setdefault(_writer(each), []).append(each)
    return tuple(
        OtherRows(
            writer=writer,
            commits=tuple(s.snapshot_id for s in commits),
            rows=sum(_rows_of(table, s, point) for s in commits),
            taken_out=sum(max(s.rows_taken_out - s.counted("added-records"), 0) for s in commits),
        )
        for writer, commits in found.items()
    )


def _is_read_again(table: TableState, commit: Snapshot, own: Set[JobId], point: RestorePoint) -> bool:
    """Of a cherry-pick by hand: whether it copied a commit of the job, or a repair with rows of Flink's alone, that the
    point does not hold."""
    origin = described_by(table, commit)
    if origin is None or origin.brings_others or commit.snapshot_id in point.rewind_loses:
        return False
    return origin.job_id in own or origin.written is not None


def _rows_of(table: TableState, commit: Snapshot, point: RestorePoint) -> int:
    """Of a repair that put back commits of the job, too, and of a pick of it, only the others'; all of it where those
    are not listed, or the point holds rows of Flink's that it brought, some of them or all: these are not read again.
    """
    if commit.snapshot_id in point.rewind_loses:
        return commit.counted("added-records")
    others = (described_by(table, commit) or commit).of_others
    there = [table.by_id[each] for each in others if each in table.by_id]
    is_known = bool(there) and len(there) == len(others)
    return sum(s.counted("added-records") for s in there) if is_known else commit.counted("added-records")


def _stays_gone(table: TableState, commit: Snapshot, point: RestorePoint, going: Set[SnapshotId]) -> bool:
    """Of a repair: whether it is missed, as nothing makes it again. One that only took out, or deleted, what goes
    as well (`going`) is not."""
    if not commit.is_repair or keeps_its_rows(table, commit) or brings_nothing(table, commit):
        return False
    if commit.only_undid(going):
        return False
    return commit.written is None or commit.brings_others or commit.snapshot_id in point.rewind_loses


def _writer(commit: Snapshot) -> str:
    if commit.is_repair:
        return _REPAIRS
    return f"Flink run {short_job(commit.job_id)}" if commit.job_id else name_of(commit)


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
            "A rewind would take rows of other writers off main, and the job does not read them again.",
            f"Expected only commits of the job since; found {in_words(others)}.",
            f"{ask}If the rows can be written again (those of a repair by a replay from the source), or may go, type "
            "`/waterline propose rewind_table_and_job drop_others=yes`; else repair by key, `/waterline propose "
            "deduplicate_rows`.",
        )
