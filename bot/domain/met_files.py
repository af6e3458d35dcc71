"""Files at which evidence failed that was looking for something else."""

from collections.abc import Iterable
from typing import Literal

from bot.domain.evidence import Evidence, Verdict


def met_files(evidence: Iterable[Evidence], how: Literal["lost_file", "damaged_file"]) -> dict[str, str]:
    """File -> the first task that failed for it; of each task its last evidence counts."""
    last = {each.task: each for each in evidence}
    open_ones = (each for each in last.values() if each.verdict is Verdict.INCONCLUSIVE)
    told = ((getattr(source, how), each.task) for each in open_ones for source in each.could_not_look)
    return {path: task for path, task in reversed(list(told)) if path is not None}
