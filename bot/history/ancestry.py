"""The ancestry of a run's state: which checkpoints of which runs it has behind it.

The run's own checkpoints belong to it since the run was restored; then those of the run whose restore point that was,
up to the point's id; and so on, down to a start without state or to where nothing is known any more.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from bot.history.case import Case
from bot.history.other_jobs import writer_of
from bot.history.starts import FROM_NOTHING, began_from, first_shown, is_its_own
from bot.history.unread_points import all_are_live
from bot.observation.findings import LeakStanding
from bot.observation.flink import CLOCKS_DIFFER, JobRun, Restored, names_run
from bot.observation.ids import DRAINED, JobId
from bot.observation.table import Snapshot

_OPEN = DRAINED + 1


class Segment(NamedTuple):
    """Checkpoints of one run in an ancestry."""

    run: str
    """Its id, or the first six digits of it."""
    above: int
    """The id from which the run went on; exclusive."""
    until: int
    """The id from which the next one went on; inclusive."""
    since: datetime | None
    """When it was restored there; None: not known."""
    by: datetime | None = None
    """When the run was at work there at the latest: it was restored then, or committed."""
    is_first: bool = False
    """Whether the run began there, and was not only set back."""
    point: Restored | None = None
    """The restore point, where the run went on from one that is known."""
    twice: int = 0
    """Up to this id the run may have counted once more, after another start: which one led here is not known."""

    def is_by(self, commit: Snapshot) -> bool:
        """Whether the run made the commit."""
        return commit.job_id is not None and commit.job_id.startswith(self.run)


class Ancestry(NamedTuple):
    """Its segments, newest first, and what lies below the last."""

    segments: tuple[Segment, ...]
    rest: int | None
    """`FROM_NOTHING`: nothing, it began without state. Else a checkpoint of that id, of a run that is not known. None:
    nothing is known of it."""

    @property
    def is_known(self) -> bool:
        """Whether anything is known of it but the run itself."""
        return self.rest is not None or len(self.segments) > 1

    def has(self, commit: Snapshot, number: int, *, is_twice: bool = False, reached: int = 0) -> bool | None:
        """Whether the state has the rows of a commit behind it; None: that is not known.

        `number`: its checkpoint id. `is_twice`: whether its run counted up to that id twice. `reached`: the id that the
        job had on main before it.
        """
        for each in filter(lambda each: each.is_by(commit), self.segments):
            if number > each.until:
                return False
            if number <= each.twice:
                return None
            if number <= each.above:
                continue
            if each.since is None or commit.committed_at >= each.since + CLOCKS_DIFFER:
                is_told = each.since is not None if each.until == _OPEN else not is_twice
                return True if is_told else None
            if commit.committed_at > each.since - CLOCKS_DIFFER:
                return True if each.is_first else None
        if self.rest == FROM_NOTHING or self._was_elsewhere(commit):
            return False
        if self.rest is None or number <= min(self.rest, reached):
            return None
        return number <= self.rest

    def _was_elsewhere(self, commit: Snapshot) -> bool:
        """Whether the state was already in one of the segments when the commit was made."""
        by = self.segments[-1].by if self.segments else None
        return by is not None and commit.committed_at >= by + CLOCKS_DIFFER


def ancestry_of(case: Case, run: JobId, at: datetime | None = None) -> Ancestry:
    """Of the state that the run had at that moment; None: that it has now."""
    segments: list[Segment] = []
    name, until, passed = str(run), _OPEN, set[str]()
    while name not in passed:
        passed.add(name[:6])
        listed = next((r for r in case.runs if r.job_id.startswith(name)), None)
        starts = _starts(case, name, listed, at, until)
        for start in starts:
            if segments and listed is not None and _may_be_older(case, listed, until, start):
                return Ancestry((*segments, Segment(name, 0, until, None, twice=_OPEN)), None)
            segments.append(Segment(name, start.number, until, start.at, is_first=start.is_first, point=start.point))
            until, at = start.number, start.at
        if not starts or not starts[-1].is_first:
            twice = _counted_twice(case, name, listed, until) if segments else 0
            return _with_times(case, Ancestry((*segments, Segment(name, 0, until, None, twice=twice)), None))
        point = starts[-1].point
        if listed is not None and point is not None and point == listed.restored and _may_be_any(listed, point):
            return Ancestry(tuple(segments), None)
        owner = writer_of(point.path) if point is not None else None
        if owner is None or until == FROM_NOTHING:
            break
        name = owner
    return _with_times(case, Ancestry(tuple(segments), until))


def _may_be_any(run: JobRun, point: Restored) -> bool:
    """Whether nothing tells whose that restore point is: it has no path, and the run was restored more than once."""
    return point.path is None and first_shown(run) is None


class _Start(NamedTuple):
    """A start of a run, or a restore of it since."""

    number: int
    """The checkpoint id from which it went on; `FROM_NOTHING`."""
    point: Restored | None
    at: datetime
    is_first: bool
    """Whether the run began there, and was not only set back."""


def _starts(case: Case, name: str, listed: JobRun | None, at: datetime | None, until: int) -> Sequence[_Start]:
    """Those of the run that came to `until`, newest first: the last restore before that moment, and below it the
    beginning, as far as they are known."""
    point, restored = listed.restored if listed is not None else None, list[_Start]()
    if listed is not None and point is not None and (at is None or point.at <= at) and point.checkpoint_id < until:
        is_own = is_its_own(point, listed) or _is_own(case, point, listed.job_id)
        restored.append(_Start(point.checkpoint_id, point, point.at, not is_own))
        if not is_own:
            return restored
        until, at = point.checkpoint_id, point.at
    began = _beginning(case, name, listed, at, until)
    return [*restored, began] if began is not None else restored


def _with_times(case: Case, line: Ancestry) -> Ancestry:
    """The same, its last segment with the time by which the run was at work there."""
    *newer, last = line.segments
    snapshots = case.observation.table.snapshots if last.since is None else ()
    mine = [s for s in snapshots if last.is_by(s) and last.above < (s.checkpoint_id or 0) <= last.until]
    by = last.since or min((s.committed_at for s in mine), default=None)
    return Ancestry((*newer, last._replace(by=by)), line.rest)


def _counted_twice(case: Case, name: str, listed: JobRun | None, until: int) -> int:
    """Up to which id two starts of a run may have counted, either of which may have come to `until`. What the sink
    passed over the second time is left on storage (facts 0.7); that of a checkpoint which a failover broke off was read
    again."""
    if listed is not None:
        point = listed.restored
        return _OPEN if point is not None and point.path is None and listed.restored_count > 1 else 0
    on_main = (s.checkpoint_id or 0 for s in case.observation.table.of_flink if (s.job_id or "").startswith(name))
    ids = {each for each in on_main if each <= until}
    left = case.leaked.of(LeakStanding.UNTOLD, LeakStanding.DROPPED) if case.leaked is not None else ()
    mine = (each for each in left if each.job_id.startswith(name) and not each.is_empty)
    again = (
        each.checkpoint_id
        for each in mine
        if each.checkpoint_id in ids
        or (each.checkpoint_id < max(ids, default=0) and not all_are_live(each, case.gaps, case.contract))
    )
    return max(again, default=0)


def _may_be_older(case: Case, run: JobRun, number: int, start: _Start) -> bool:
    """Whether the run had ids above those of that start before it, and is not known to have completed the checkpoint of
    this number since."""
    at = start.at
    mine = [s for s in case.observation.table.snapshots if s.job_id == run.job_id and s.committed_at < at]
    if all((s.checkpoint_id or 0) <= start.number for s in mine):
        return False
    done = [c.triggered_at for c in run.checkpoints if c.checkpoint_id == number and c.status == "COMPLETED"]
    stored = (c for c in case.observation.checkpoints.values if c.job_id == run.job_id and c.checkpoint_id == number)
    return all(each < at for each in (*done, *(c.written_at for c in stored)))


def _is_own(case: Case, point: Restored, run: JobId) -> bool:
    """Whether a point is of the run itself: by its path, or because the run has committed a checkpoint up to there."""
    mine = (s for s in case.observation.table.snapshots if s.job_id == run)
    return names_run(point.path, run) or (
        point.path is None and any((s.checkpoint_id or 0) <= point.checkpoint_id for s in mine)
    )


def _beginning(case: Case, name: str, listed: JobRun | None, at: datetime | None, until: int) -> _Start | None:
    """From where the run began that came to `until`; None: not known. That it went back to a point of its own is no
    beginning."""
    seen = [s for s in case.observation.remembered if s.job_id.startswith(name)]
    seen = [s for s in seen if at is None or s.started_at <= at + CLOCKS_DIFFER]
    began = [(s.restored, s.started_at) for s in seen if s.restored is None or not _is_own(case, s.restored, s.job_id)]
    if len({(p.checkpoint_id, p.path) if p is not None else None for p, _ in began}) == 1:
        (point, started), *_ = began
        if point is None:
            return _Start(FROM_NOTHING, None, started, is_first=True)
        return _Start(point.checkpoint_id, point, point.at, is_first=True)
    if listed is None or began or (at is not None and listed.started_at > at + CLOCKS_DIFFER):
        return None
    own = (s.committed_at for s in case.observation.table.of_flink if s.job_id == listed.job_id)
    number = began_from(listed, next((each for each in own if each >= listed.started_at), None))
    point = listed.restored
    is_own = point is not None and number == point.checkpoint_id and _is_own(case, point, listed.job_id)
    if number is None or number >= until or is_own:
        return None
    return _Start(number, None, listed.started_at, is_first=True)
