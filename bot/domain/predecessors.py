"""Which commits on main a run may have gone on from: those of the job's earlier runs, and not those of a guest, another
Flink job that writes the table beside it and counts its own checkpoints.

Where on main a run took over from another one, by the commits alone.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from bot.domain.flink import CLOCKS_DIFFER, JobRun
from bot.domain.ids import CheckpointId, JobId, OperatorId, SnapshotId
from bot.domain.kin import went_on_from
from bot.domain.record import Record
from bot.domain.table import Snapshot, TableState


class Switch(Record):
    """The place on main where `run` took over from `earlier`, falling or not."""

    run: JobId
    earlier: JobId
    reached: CheckpointId
    first: SnapshotId
    first_checkpoint: CheckpointId


def switches(table: TableState) -> tuple[Switch, ...]:
    """Every first commit of a run on main that comes after a commit of another run, oldest first."""
    commits = table.of_flink
    found: dict[JobId, Switch | None] = {}
    for index, commit in enumerate(commits):
        if commit.job_id is None or commit.job_id in found:
            continue
        earlier = _newest_of_others(commits[:index], commit)
        found[commit.job_id] = None if earlier is None else switch_to(earlier, commit, commit.job_id)
    return tuple(switch for switch in found.values() if switch is not None)


def switch_to(earlier: Snapshot, commit: Snapshot, run: JobId) -> Switch:
    """The place where `run` took over with `commit` from the run that had made `earlier`."""
    return Switch(
        run=run,
        earlier=JobId(earlier.job_id or ""),
        reached=CheckpointId(earlier.checkpoint_id or 0),
        first=commit.snapshot_id,
        first_checkpoint=CheckpointId(commit.checkpoint_id or 0),
    )


def _newest_of_others(before: Sequence[Snapshot], commit: Snapshot) -> Snapshot | None:
    """The newest commit by another run of the same operator (or where one of the two names none)."""
    for other in reversed(before):
        same = None in (other.operator_id, commit.operator_id) or other.operator_id == commit.operator_id
        if other.job_id != commit.job_id and same:
            return other
    return None


class _Made(NamedTuple):
    place: int
    at: datetime
    sink: OperatorId | None


class Predecessors:
    """Whose commits count for the runs that Flink lists as the job's; what tells it is read once for all of them."""

    def __init__(self, table: TableState, runs: Iterable[JobRun]) -> None:
        self._commits = table.of_flink
        self._runs = tuple(runs)
        self._told_beside: dict[tuple[JobId, JobId | None], bool] = {}

    def first_of(self, job_id: JobId) -> int | None:
        """The place of the run's first commit among Flink's on main; None while it is silent."""
        made = self._made.get(job_id)
        return made[0].place if made else None

    def newest(self, run: JobRun, until: int) -> tuple[Snapshot, ...]:
        """The job's newest commit before `run`, among the oldest `until` of Flink's on main; empty: none. More than one
        where nothing tells whether a run that Flink does not list is the job's: the newest by one that is known to be,
        then of each that may be, newest first.

        What others committed before a run that is known to be the job's is no matter.
        """
        return self._newest(run.job_id, self._last_places(run.job_id, until), run)

    def newest_by_sink(self, switch: Switch, first: Snapshot) -> tuple[Snapshot, ...]:
        """The same before a run that Flink does not list, of those that commit under the operator id of its `first`
        commit, or where one of the two names none."""
        until, earlier = self.first_of(switch.run) or 0, self.first_of(switch.earlier) or 0
        since = 0 if self._is_beside(switch.earlier, switch.run) else earlier
        return self._newest(switch.run, self._last_places(switch.run, until, since, first), None)

    def _newest(self, job_id: JobId, places: Iterable[tuple[int, JobId]], run: JobRun | None) -> tuple[Snapshot, ...]:
        found: dict[JobId, Snapshot] = {}
        for place, other in places:
            commit = self._commits[place]
            if other in self.own:
                return (commit, *found.values())
            if (run is None or self.may_be_own(commit)) and not self._is_beside(other, job_id):
                found[other] = commit
        return self._not_taken_over(run, found)

    def _last_places(
        self, job_id: JobId, until: int, since: int = 0, first: Snapshot | None = None
    ) -> list[tuple[int, JobId]]:
        """Of each other run that has committed from `since` on its newest commit below `until`, newest first; `first`:
        of those that may be by its sink."""
        found: list[tuple[int, JobId]] = []
        for other, made in self._made.items():
            if other == job_id or made[-1].place < since or made[0].place >= until:
                continue
            below = range(bisect_left(made, until, key=lambda each: each.place) - 1, -1, -1)
            mine = (made[at] for at in below if first is None or _may_be_one(made[at].sink, first.operator_id))
            found += [(each.place, other) for each in islice(mine, 1)]
        return sorted(found, reverse=True)

    def may_be_own(self, commit: Snapshot) -> bool:
        """Whether a run of the job may have made it: one that is known to be the job's, or by a sink of the job's. One
        that names no sink may be any's, and so may each where no sink of the job's is known."""
        if commit.job_id in self.own or not self._sinks:
            return True
        return None in (commit.operator_id, *self._sinks) or commit.operator_id in self._sinks

    @cached_property
    def own(self) -> frozenset[JobId]:
        """The runs that are known to be the job's: Flink lists them, or a restore point with which one of these began
        is theirs by its path."""
        listed = {run.job_id for run in self._runs}
        unlisted = self._made.keys() - listed
        named = {job_id for job_id in unlisted if any(went_on_from(run, job_id) for run in self._runs)}
        return frozenset(listed | named)

    def may_be_forgotten(self, commit: Snapshot) -> bool:
        """Whether Flink may have forgotten the run that made it, if it is the job's: the oldest go first, so not when
        it lists one that had begun before."""
        return all(run.started_at >= commit.committed_at for run in self._runs)

    def _is_beside(self, other: JobId, job_id: JobId) -> bool:
        """Whether it has committed while another run of the job than this one lived, or between two commits of one: no
        hand-over looks like that."""
        key = (other, job_id if job_id in self.own else None)
        if key not in self._told_beside:
            made, runs = self._made[other], [run for run in self._runs if run.job_id not in (other, job_id)]
            spans = [each for own in self.own - {other, job_id} if (each := self._made.get(own))]
            self._told_beside[key] = any(_was_alive(run, each.at) for run in runs for each in made) or any(
                span[0].place < each.place < span[-1].place for span in spans for each in made
            )
        return self._told_beside[key]

    def _not_taken_over(self, run: JobRun | None, newest: Mapping[JobId, Snapshot]) -> tuple[Snapshot, ...]:
        """Of these runs, newest first, those from which no other has taken over: by the same sink, after their last
        commit, and without committing beside `run` itself. An old commit that names no sink may be any's."""
        lines: list[tuple[set[OperatorId | None], int, Snapshot]] = []
        for job_id, commit in newest.items():
            made = self._made[job_id]
            sinks = {next(iter(self._sinks), None) if each.sink in self._sinks else each.sink for each in made}
            later = (place for place, line in enumerate(lines) if line[1] > made[-1].place)
            after = next((place for place in later if lines[place][0] & sinks or sinks == {None}), None)
            first = -1 if run is not None and any(_was_alive(run, each.at) for each in made) else made[0].place
            if after is None:
                lines.append((sinks, first, commit))
            else:
                lines[after] = (lines[after][0] | sinks, first, lines[after][2])
        return tuple(commit for *_, commit in lines)

    @cached_property
    def _sinks(self) -> frozenset[OperatorId | None]:
        """Under which operator ids the job's runs have committed, or would: those of their graphs that are on main."""
        by_own = {made.sink for job_id in self.own for made in self._made.get(job_id, ())}
        graphs = {vertex.vertex_id for run in self._runs for vertex in run.vertices}
        return frozenset(by_own | {made.sink for each in self._made.values() for made in each if made.sink in graphs})

    @cached_property
    def _made(self) -> Mapping[JobId, Sequence[_Made]]:
        """Run -> its commits on main, oldest first."""
        found: dict[JobId, list[_Made]] = {}
        for place, s in enumerate(self._commits):
            found.setdefault(JobId(s.job_id or ""), []).append(_Made(place, s.committed_at, s.operator_id))
        return found


def _may_be_one(sink: OperatorId | None, other: OperatorId | None) -> bool:
    return None in (sink, other) or sink == other


def _was_alive(run: JobRun, at: datetime) -> bool:
    """Whether the run lived then, by whichever clock; not where Flink does not say when it ended."""
    if run.is_terminal and (run.ended_at is None or run.ended_at - CLOCKS_DIFFER < at):
        return False
    return run.started_at + CLOCKS_DIFFER <= at
