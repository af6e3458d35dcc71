"""Whether the living run stands below rows that main has already: then it is to bring them again, whatever hides how
it came there."""

from bot.diagnosis._case import living
from bot.diagnosis._read_again_once import not_passed
from bot.domain.diagnosis import CannotTell, Case


def behind_main(case: Case) -> CannotTell | None:
    """What is missing to know that it does not, by the positions of the rows that it has brought since it began; None:
    they are main's highest, or it has brought none."""
    table = case.observation.table
    for run in living(case):
        began = run.restored.at if run.restored is not None else run.started_at
        own = (s for s in table.of_flink if s.job_id == run.job_id and s.committed_at >= began and s.adds_rows)
        first = next(own, None)
        if first is not None and (behind := not_passed(case, run.job_id, first.snapshot_id)) is not None:
            return behind
    return None
