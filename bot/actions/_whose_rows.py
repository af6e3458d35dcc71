"""Whose rows lost commits bring that are put back: the job may read its own again, and nobody others'."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from bot.domain.diagnosis import Case
from bot.domain.guests import those_that_bind
from bot.domain.other_writers import described_by
from bot.domain.table import Snapshot

_EVER = datetime(1970, 1, 1, tzinfo=UTC)


def of_job(case: Case, lost: Sequence[Snapshot]) -> Sequence[Snapshot]:
    """Not what another engine or a guest committed beside it: the job's state does not know of these."""
    return those_that_bind(case, [each for each in lost if each.job_id is not None and each.checkpoint_id is not None])


def when_written(case: Case, wanted: Sequence[Snapshot]) -> tuple[datetime, ...]:
    """When the job had written the rows of these that are its own, a repair's by what that says itself and a
    cherry-pick's by its source; at any time before it, where that is not listed. None: all are of others."""
    return tuple(each for commit in wanted for each in _moments(case, commit))


def of_others(case: Case, wanted: Sequence[Snapshot]) -> tuple[Snapshot, ...]:
    """Those with rows of other writers."""
    return tuple(each for each in wanted if _brings_others(case, each) or not any(_moments(case, each)))


def _brings_others(case: Case, commit: Snapshot) -> bool:
    origin = described_by(case.observation.table, commit)
    return origin is not None and origin.brings_others


def _moments(case: Case, commit: Snapshot) -> Iterator[datetime]:
    origin = described_by(case.observation.table, commit)
    if origin is None:
        yield from (_EVER, commit.committed_at)
    elif origin.written is not None:
        yield from origin.written
    elif of_job(case, [origin]) or (origin.is_repair and origin.job_id is not None):
        yield origin.committed_at
