"""Whether a restore point that is newer than any commit of its run goes on right where main ends.

It does only where main's newest commit that binds is the newest of that run: what another run has committed since, a
job started from it would bring a second time, and what main has lost of its own run it would never bring again.
"""

from collections.abc import Sequence
from functools import cached_property

from bot.domain.diagnosis import Case
from bot.domain.findings import Pairing, PairVerdict
from bot.domain.guests import commits_that_bind
from bot.domain.ids import CheckpointId, JobId, short, short_job
from bot.domain.run_commits import CommitsByRun
from bot.domain.table import Snapshot


class EndOfMain:
    """Of one case; its commits are read once for all restore points, and only where one is newer."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._commits = CommitsByRun(case.observation.table)

    def is_of(self, run: JobId | None) -> bool:
        """Whether the newest commit that binds is the run's own, and the newest listed one of that."""
        newest = self._newest
        if newest is None or run is None or newest.job_id != run:
            return False
        return newest.checkpoint_id == self._reached(run)

    def beside(self, each: Pairing) -> Pairing:
        """The same; of one that is newer, and does not go on where main ends, with what stands against a start."""
        if each.verdict is not PairVerdict.AHEAD or each.job_id is None or self.is_of(each.job_id):
            return each
        return each.model_copy(update={"reason": self._why_not(each.job_id)})

    def _why_not(self, run: JobId) -> str:
        said = f"Run {short_job(run)} has committed up to checkpoint {self._reached(run)}"
        newest, lost = self._newest, self._lost(run)
        if lost and (newest is None or self._place(newest) < self._place(lost[-1])):
            until = f" to {short(lost[-1].snapshot_id)}" if len(lost) > 1 else ""
            return (
                f"{said}, and main has lost {len(lost)} of these commits, {short(lost[0].snapshot_id)}{until}, which "
                "this state has behind it: a job started from here does not bring their rows again."
            )
        if newest is not None and newest.job_id != run:
            return (
                f"{said}, and run {short_job(newest.job_id)} has gone on since: {short(newest.snapshot_id)}, its "
                f"checkpoint {newest.checkpoint_id}, is on main. A job started from here would bring that run's rows a "
                "second time."
            )
        return f"{said}, which is not its newest on main: where a job started from here would go on is not known."

    def _reached(self, run: JobId) -> CheckpointId | None:
        return max((s.checkpoint_id for s in self._commits.listed(run) if s.checkpoint_id is not None), default=None)

    def _lost(self, run: JobId) -> Sequence[Snapshot]:
        """The commits of the run that are listed and not on main, nor put back under its keys; oldest first."""
        on_main, listed = self._case.observation.table.chain_ids, self._commits.listed(run)
        there = {(s.operator_id, s.checkpoint_id) for s in listed if s.snapshot_id in on_main}
        return [s for s in listed if (s.operator_id, s.checkpoint_id) not in there]

    def _place(self, commit: Snapshot) -> int:
        return self._case.observation.table.place_of(commit.snapshot_id)

    @cached_property
    def _newest(self) -> Snapshot | None:
        return next(reversed(commits_that_bind(self._case)), None)
