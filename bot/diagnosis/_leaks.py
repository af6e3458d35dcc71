"""The Flink manifests of a run that were never committed, and whether their rows can still be appended."""

from collections.abc import Sequence

from bot.diagnosis._case import listed
from bot.domain.diagnosis import Case
from bot.domain.findings import LeakedManifest, LeakStanding
from bot.domain.ids import CheckpointId, JobId, short_job
from bot.domain.sentences import counted
from bot.domain.unread_points import rows_of, some_are_live


def leaks_of(case: Case, job: JobId, *standings: LeakStanding) -> tuple[LeakedManifest, ...]:
    """Those of the run that stand so, by checkpoint id; empty also before anybody looked."""
    found = case.leaked.of(*standings) if case.leaked else ()
    return tuple(sorted((leak for leak in found if leak.job_id == job), key=lambda leak: leak.checkpoint_id))


def up_to(leaks: Sequence[LeakedManifest], checkpoint: CheckpointId) -> tuple[LeakedManifest, ...]:
    """Those of checkpoints at or below this one."""
    return tuple(leak for leak in leaks if leak.checkpoint_id <= checkpoint)


def can_be_appended(case: Case, leaks: Sequence[LeakedManifest]) -> bool:
    """Whether every one could be read, lists data files alone, and all of them are there, so that its rows are not
    lost, and none of them came to the table since. A delete that is appended now would take off rows that came since.
    """
    are_whole = all(leak.files is not None and not leak.missing_files for leak in leaks)
    came_since = any(some_are_live(leak, case.gaps, case.contract) for leak in leaks)
    return bool(leaks) and are_whole and not came_since and not any(leak.has_deletes for leak in leaks)


def in_words(leaks: Sequence[LeakedManifest]) -> str:
    """One sentence: how many, of which checkpoints, with how many rows, and whether they can be had."""
    ids = sorted({leak.checkpoint_id for leak in leaks})
    unread = sum(1 for leak in leaks if leak.rows is None)
    gone = sum(leak.missing_files for leak in leaks)
    tail = f"{gone} of their files are gone" if gone else "their files are all there"
    if unread:
        tail = f"what {'it lists' if len(leaks) == 1 else f'{unread} of them list'} cannot be had from it"
    return (
        f"{counted(len(leaks), 'Flink manifest')} of run {short_job(leaks[0].job_id)}, of "
        f"{'checkpoint' if len(ids) == 1 else 'checkpoints'} {listed(ids)}, still on storage with "
        f"{rows_of(leaks)} never committed; {tail}."
    )
