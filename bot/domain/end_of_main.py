"""Whether a restore point that is newer than any commit of its run goes on right where main ends.

It does only where main's newest commit that binds is the newest of that run: what another run has committed since, a
job started from it would bring a second time, and what main has lost of its own run it would never bring again.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property

from bot.domain.diagnosis import Case
from bot.domain.guests import commits_that_bind
from bot.domain.ids import CheckpointId, JobId
from bot.domain.table import Snapshot


class EndOfMain:
    """Of one case; its commits are read once for all restore points, and only where one is newer."""

    def __init__(self, case: Case) -> None:
        self._case = case

    def is_of(self, run: JobId | None) -> bool:
        """Whether the newest commit that binds is the run's own, and the newest listed one of that."""
        newest = self._newest
        if newest is None or run is None or newest.job_id != run:
            return False
        return newest.checkpoint_id == self._reached(run)

    def _reached(self, run: JobId) -> CheckpointId | None:
        return max((s.checkpoint_id for s in self._of_run.get(run, ()) if s.checkpoint_id is not None), default=None)

    @cached_property
    def _newest(self) -> Snapshot | None:
        return next(reversed(commits_that_bind(self._case)), None)

    @cached_property
    def _of_run(self) -> Mapping[JobId, Sequence[Snapshot]]:
        """The listed commits of each run, on main or not."""
        found = dict[JobId, list[Snapshot]]()
        for each in self._case.observation.table.snapshots:
            if each.job_id is not None and each.checkpoint_id is not None:
                found.setdefault(each.job_id, []).append(each)
        return found
