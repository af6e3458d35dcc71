"""Commits by the start of the job that made them: one job id may have several, where it is fixed or made of a name."""

from collections.abc import Sequence
from itertools import groupby

from bot.domain.ids import JobId, OperatorId
from bot.domain.run_commits import lives
from bot.domain.table import Snapshot


def by_start(commits: Sequence[Snapshot], run: JobId) -> tuple[list[Snapshot], list[list[Snapshot]]]:
    """What the newest start of `run` has committed, and what each other start has; all oldest first. Each sink counts
    its own checkpoints; one that has committed nothing since another of the run's began is of an earlier start, under
    another uid. A commit that only brings an older one's files again (F1) is of no start."""
    by_sink: dict[tuple[JobId | None, OperatorId | None], list[Snapshot]] = {}
    for each in commits:
        by_sink.setdefault((each.job_id, each.operator_id), []).append(each)
    now, others = list[list[Snapshot]](), list[list[Snapshot]]()
    for (job_id, _), mine in by_sink.items():
        once = [s for at, s in enumerate(mine) if not _is_made_twice(mine, at)]
        life = lives(once)
        *earlier, newest = (list(start) for _, start in groupby(once, key=lambda s: life[s.snapshot_id]))
        others += earlier
        (now if job_id == run else others).append(newest)
    place = {s.snapshot_id: at for at, s in enumerate(commits)}
    began = max((place[start[0].snapshot_id] for start in now), default=0)
    present = [s for start in now if place[start[-1].snapshot_id] >= began for s in start]
    return present, others + [start for start in now if place[start[-1].snapshot_id] < began]


def _is_made_twice(mine: Sequence[Snapshot], at: int) -> bool:
    """Whether this one of a sink's commits alone brings again what an older one brought. After a start from below
    several checkpoints come again, and after one without state the first."""
    highest, found, after = _number(mine[max(at - 1, 0)]), mine[at], mine[at + 1 : at + 2]
    if not 1 < _number(found) < highest or any(_number(s) <= highest for s in after):
        return False
    return any(_brought(s) == _brought(found) for s in mine[:at])


def _number(commit: Snapshot) -> int:
    return commit.checkpoint_id or 0


def _brought(commit: Snapshot) -> tuple[int, int, int]:
    return _number(commit), commit.counted("added-records"), commit.counted("added-files-size")
