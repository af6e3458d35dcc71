"""Whether a living run's state holds what main lost: of its own commits, or of others'."""

from collections.abc import Iterable, Sequence
from enum import Enum, auto

from bot.domain.beginnings import FROM_NOTHING
from bot.domain.beside_a_rollback import Scene
from bot.domain.flink import JobRun, names_run
from bot.domain.held_states import first_commit_of, has_passed_over, holds_lost
from bot.domain.ids import CheckpointId
from bot.domain.table import Snapshot


class Held(Enum):
    """Whether a living run's state holds what main lost."""

    YES = auto()
    PERHAPS = auto()
    NO = auto()
    """It reads it again."""
    NOT_ITS = auto()
    """The run has to do with none of it, for all that is known."""


def own_is_held(scene: Scene, run: JobRun, own: Sequence[Snapshot], lost: Sequence[Snapshot]) -> Held:
    """Of a run that lost some itself: not where Flink has restored it since from below."""
    if run.restored is None or any(s.committed_at >= run.restored.at for s in own):
        return Held.YES
    is_beyond = run.restored.checkpoint_id >= min(ids_of(own, 0), default=0)
    if is_beyond or has_passed_over(scene, run, own):
        return Held.YES
    is_its_own = names_run(run.restored.path, run.job_id)
    return Held.PERHAPS if is_its_own and came_after(own, lost) else Held.NO


def came_after(own: Sequence[Snapshot], lost: Iterable[Snapshot]) -> bool:
    """Whether main lost commits of another run by the same sink that are older than all that this one lost: where it
    began, and so whether a checkpoint of its own reads their rows again, is not told by ids."""
    first, sinks = min(s.committed_at for s in own), {s.operator_id for s in own}
    others = (s for s in lost if s.job_id not in (None, own[0].job_id) and s.operator_id in sinks)
    return any(s.committed_at < first for s in others)


def is_held(scene: Scene, run: JobRun, lost: Sequence[Snapshot], reached: int) -> Held:
    """Of a run that lost none: what it began with lies before all that it did, whenever the lost commits came."""
    of_flink = [s for s in lost if s.checkpoint_id is not None]
    if run.restored is None or not of_flink:
        return Held.NOT_ITS
    held = holds_lost(scene, run, first_commit_of(scene, run), of_flink, reached)
    if held is not None:
        is_since = all(s.committed_at < run.restored.at for s in of_flink)
        reads_again = is_since and run.restored.checkpoint_id > FROM_NOTHING
        return Held.YES if held else Held.NO if reads_again else Held.NOT_ITS
    return Held.PERHAPS


def ids_of(commits: Iterable[Snapshot], above: int) -> list[CheckpointId]:
    """Their checkpoint ids that lie above this one."""
    return [s.checkpoint_id for s in commits if s.checkpoint_id is not None and s.checkpoint_id > above]
