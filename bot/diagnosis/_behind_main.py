"""Whether the living run stands below rows that main has already: then it is to bring them again, whatever hides how
it came there."""

from collections.abc import Iterator

from bot.diagnosis._case import living
from bot.diagnosis._read_again_once import not_passed
from bot.diagnosis._which_point import newest_of
from bot.domain.beginnings import came_up_at
from bot.domain.diagnosis import CannotTell, Case
from bot.domain.flink import JobRun
from bot.domain.table import Snapshot


def behind_main(case: Case) -> CannotTell | None:
    """What is missing to know that it does not, by the positions of the rows that it has brought since it began, or
    before it has brought any the run that it goes on from; None: they are main's highest, or neither brought any."""
    for run in living(case):
        first = _first_rows_of(case, run) or _first_rows_before(case, run)
        if first is None or first.job_id is None:
            continue
        if (behind := not_passed(case, first.job_id, first.snapshot_id)) is not None:
            return behind
    return None


def _first_rows_of(case: Case, run: JobRun) -> Snapshot | None:
    began = came_up_at(run)
    return next((s for s in _of(case, run.job_id) if s.committed_at >= began), None)


def _first_rows_before(case: Case, run: JobRun) -> Snapshot | None:
    """The oldest listed commit with rows of the run whose state it has; the newest, where Flink does not list the start
    that made it: an earlier one under that job id may have stood elsewhere."""
    point = run.restored
    commit = newest_of(case, point) if point is not None else None
    if commit is None:
        return None
    own, starts = tuple(_of(case, commit.job_id)), (r for r in case.runs if r.job_id == commit.job_id)
    if not own or any(each.started_at <= own[0].committed_at for each in starts):
        return own[0] if own else None
    return own[-1]


def _of(case: Case, job: str | None) -> Iterator[Snapshot]:
    return (s for s in case.observation.table.of_flink if s.job_id == job and s.adds_rows)
