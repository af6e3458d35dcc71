"""Stop a run for good, keeping its last state; prove that the savepoint of a stop pairs with the head, and keep the
snapshot that it pairs with; start the job from a restore point, exactly once.
"""

import uuid
from contextlib import suppress
from datetime import timedelta
from itertools import takewhile
from typing import TypeVar

from bot.actions._effects.handler import Clients, EffectHandler, EffectResult, Pending, Verification, tag_check
from bot.actions._support.foreseen import case_with_owners, committer
from bot.actions._support.maintenance import commit_marks
from bot.actions._support.recipes import left_behind
from bot.actions._support.requirements import CurrentState
from bot.actions._support.restore_points import newest_that_pairs
from bot.history.checkpoint_pace import PROPERTY, empty_commits_allowed
from bot.history.other_jobs import commits_that_bind
from bot.history.restore import pairing
from bot.incident.effects import KeepSavepoint, Owed, StartFromStop, StartJob, StopFork, StopJob
from bot.incident.entries import Check, EffectStarted
from bot.incident.proposal import NobodyWrites, Requirement, RunIsCurrent
from bot.observation.errors import CouldNotLook, Superseded
from bot.observation.findings import PairVerdict
from bot.observation.flink import JobRun
from bot.observation.ids import CheckpointId, JobId, SnapshotId, short, short_job
from bot.observation.looked import Seen
from bot.observation.sentences import clock_time, few
from bot.observation.table import Snapshot, TableState
from bot.ports import FlinkJobs, TableChange

S = TypeVar("S", bound=StopJob | StopFork)


class _Stopping(EffectHandler[S]):
    """Stop-with-savepoint, never drained, where the run is settled; else cancel, but never of state that is needed.

    Always a cancel where what follows starts from a checkpoint of the run: Flink deletes it after a savepoint."""

    def perform(self, effect: S, intent: EffectStarted, clients: Clients) -> EffectResult:
        """`result`: `savepoint`, if one was taken. What the run may have owned is left the time to go, so that the
        requirements of what follows find it gone."""
        ports = clients.jobs[effect.job]
        how = effect if isinstance(effect, StopJob) else StopJob(job=effect.job, job_id=effect.job_id)
        stopped = ports.flink.stop(
            how.job, how.job_id, needs_state=how.needs_state, keeps_checkpoints=how.keeps_checkpoints
        )
        if how.may_delete is not None:
            with suppress(CouldNotLook):  # the requirement is looked at once more, and says so
                ports.checkpoints.outlasts(how.may_delete)
        return EffectResult(
            sentence=stopped.sentence, result={"savepoint": stopped.savepoint} if stopped.savepoint else {}
        )

    def verify(self, effect: S, intent: EffectStarted, clients: Clients) -> Verification:
        """By the run's state, as the cluster tells it, else as the history server remembers it. One that goes on was
        not stopped only if nobody may stop it yet by what was asked for."""
        ports, short = clients.jobs[effect.job], short_job(effect.job_id)
        run = ports.flink.run(effect.job_id)
        if run is not None:
            asked = None if run.is_terminal else ports.flink.still_asked_to_stop(effect.job_id)
            if asked is not None:
                return Verification(happened="unknown", sentence=f"Run {short} is {run.state}. {asked}")
            return Verification(happened="yes" if run.is_terminal else "no", sentence=f"Run {short} is {run.state}.")
        past = ports.history.past_run(effect.job_id) if ports.history is not None else None
        if past is not None and past.is_terminal:
            return Verification(happened="yes", sentence=f"Run {short} is {past.state}, by the history server.")
        alive = ", ".join(short_job(each.job_id) for each in ports.flink.runs(effect.job) if not each.is_terminal)
        history = "neither does its history server" if ports.history is not None else "no history server is configured"
        return Verification(
            happened="unknown",
            sentence=f"Flink does not know run {short} any more, and {history}. Alive under the name {effect.job}: "
            f"{alive or 'no run'}.",
        )

    def may_still_complete(self, effect: S, clients: Clients) -> str | None:
        """A savepoint that takes longer than anybody has waited."""
        return clients.jobs[effect.job].flink.stop_at_work(effect.job_id)

    def on_table(self, effect: S, table: TableState) -> str:
        """When it committed last: a run that was not stopped would go on."""
        name = f"Run {short_job(effect.job_id)}"
        last = next((snapshot for snapshot in table.chain if snapshot.job_id == effect.job_id), None)
        if last is None:
            return f"{name} has no commit on main."
        at = clock_time(last.committed_at, table.read_at, seconds=True)
        return f"{name} committed last at {at} (checkpoint {last.checkpoint_id}) and has not committed since."


class StoppingJob(_Stopping[StopJob]):
    uses_up = frozenset({"run-is-current", "plan-counts"})

    def leaves(self, effect: StopJob) -> tuple[Requirement, ...]:
        """From then on nobody may write."""
        return (NobodyWrites(job=effect.job),)

    def describe(self, effect: StopJob) -> str:
        return f"Stop run {short_job(effect.job_id)}"


class StoppingFork(_Stopping[StopFork]):
    uses_up = frozenset({"runs-alive", "run-is-current"})

    def leaves(self, effect: StopFork) -> tuple[Requirement, ...]:
        """From then on only the other may write."""
        kept = RunIsCurrent(job=effect.keeps_of or effect.job, job_id=effect.keeps)
        return (kept,) if effect.keeps_of is None else (kept, NobodyWrites(job=effect.job))

    def describe(self, effect: StopFork) -> str:
        one, other = short_job(effect.job_id), short_job(effect.keeps)
        if effect.keeps_of is None:
            return f"Stop run {one}, keep run {other}"
        return f"Stop run {one} of {effect.job}, keep run {other} of {effect.keeps_of}"

    def checks(self, effect: StopFork, intent: EffectStarted, world: CurrentState) -> tuple[Check, ...]:
        kept = effect.keeps_of or effect.job
        beside = "" if kept == effect.job else f", and none of {effect.job}"
        name = f"Only run {short_job(effect.keeps)} of {kept} is alive{beside}"
        try:
            live = [run for job in dict.fromkeys((kept, effect.job)) for run in world.live(job)]
        except CouldNotLook as error:
            return (Check(name=name, passed=None, sentence=str(error)),)
        found = ", ".join(short_job(job_id) for job_id in live) or "none"
        return (Check(name=name, passed=live == [effect.keeps], sentence=f"Alive: {found}."),)


class Began:
    """The run that a start began, as Flink and the table show it; Flink is asked once for it."""

    def __init__(self, start: StartJob, asked: JobId, world: CurrentState) -> None:
        self._start, self._world, self._table = start, world, world.table
        self.run: JobRun | None = None
        self.unseen: str | None = None
        """Why Flink did not tell of it; None: it answered."""
        try:
            self.run = world.jobs[start.job].flink.run(asked)
        except CouldNotLook as error:
            self.unseen = str(error)
        self.job_id = self.run.job_id if self.run is not None else asked
        """Under which it commits, see `own_id`; `asked` where Flink was not seen: then its commits are not found."""

    @property
    def commits(self) -> tuple[Snapshot, ...]:
        """Its own on main after the snapshot on which it was started, oldest first; none where that is not known."""
        base = self._start.on_top_of
        return tuple(s for s in left_behind(self._table, base) if s.job_id == self.job_id) if base is not None else ()

    def progress(self) -> tuple[Check, ...]:
        """What was owed is there, and the run goes on from where it was started."""
        if self._start.on_top_of is not None:
            return (self._first_commit(self._start.on_top_of),)
        return *([self._paid(self._start.owes)] if self._start.owes is not None else []), self._goes_on()

    def came_up(self) -> Check:
        """It was restored there, and runs with every operator. A failover of its own since then is restored from a
        later checkpoint."""
        start, run = self._start, self.run
        name = f"The job runs from checkpoint {start.checkpoint_id}"
        if self.unseen is not None:
            return Check(name=name, passed=None, sentence=self.unseen)
        if run is None:
            return Check(name=name, passed=False, sentence=f"Flink does not know run {short_job(self.job_id)}.")
        if run.restored is None:
            return Check(name=name, passed=False, sentence=f"{standing(run)} It shows no restore.")
        restored = run.restored.checkpoint_id
        is_from_there = restored == start.checkpoint_id
        has_failed_over = run.restored_count > 1 and restored > start.checkpoint_id and not run.restored.is_savepoint
        found = f"{standing(run)} It was restored from checkpoint {restored}"
        return Check(
            name=name,
            passed=run.is_settled and (is_from_there or has_failed_over),
            sentence=f"{found}, one of its own, after a failure since the start." if has_failed_over else f"{found}.",
        )

    def _paid(self, owed: Owed) -> Check:
        """What the restore point held beyond the table is committed first, under the id of the run that wrote it."""
        numbers = range(owed.checkpoint_id, self._start.checkpoint_id + 1)
        after = left_behind(self._table, owed.head)
        paid = [s for s in after if s.job_id not in {None, self.job_id} and s.checkpoint_id in numbers]
        return Check(
            name=f"Main has the pending files of checkpoint {owed.checkpoint_id}, after {short(owed.head)}",
            passed=bool(paid),
            sentence=f"Commit {short(paid[0].snapshot_id)} added them, as checkpoint {paid[0].checkpoint_id}."
            if paid
            else f"No commit after {short(owed.head)} has added them.",
        )

    def _goes_on(self) -> Check:
        """A checkpoint after the restore point is completed or committed: a run that only came up shows none."""
        name, own = f"The job has continued after checkpoint {self._start.checkpoint_id}", short_job(self.job_id)
        if self.unseen is not None:
            return Check(name=name, passed=None, sentence=self.unseen)
        committed = [s.checkpoint_id for s in self._table.chain if s.job_id == self.job_id and s.checkpoint_id]
        completed = [c.checkpoint_id for c in self.run.checkpoints if c.status == "COMPLETED"] if self.run else []
        newest = max((*committed, *completed), default=CheckpointId(0))
        if newest <= self._start.checkpoint_id:
            return Check(name=name, passed=False, sentence=f"Run {own} has completed no checkpoint yet.")
        did = "committed" if newest in committed else "completed"
        return Check(name=name, passed=True, sentence=f"Run {own} has {did} checkpoint {newest}.")

    def _first_commit(self, base: SnapshotId) -> Check:
        """It is of a checkpoint after the restore point, on top of the snapshot that pairs. Between the two may lie
        what does not bind the job: commits of other engines, and of other jobs. Ids in between are those of checkpoints
        that failed, or had no files: the sink leaves these out for a while."""
        at, own, commits = self._start.checkpoint_id, short_job(self.job_id), self.commits
        name = f"The first commit is of a later checkpoint than {at}, on top of {short(base)}"
        if not commits:
            return Check(name=name, passed=False, sentence=f"Run {own} has not committed yet.")
        first, ids = commits[0], ", ".join(str(s.checkpoint_id) for s in commits[:6])
        said = f"Run {own} committed checkpoints {ids} on top of {short(first.parent_id)}."
        if base not in self._table.chain_ids or first.checkpoint_id is None or first.checkpoint_id <= at:
            return Check(name=name, passed=False, sentence=said)
        try:
            is_bound, between = self._came_between(base, first)
        except CouldNotLook as error:
            return Check(name=name, passed=None, sentence=str(error))
        said = f"{said} {between}".rstrip()
        skipped = range(at + 1, first.checkpoint_id)
        if is_bound or not skipped:
            return Check(name=name, passed=not is_bound, sentence=said)
        completed, told = self._told_of(skipped)
        allowed = empty_commits_allowed(self._table.properties)
        if completed > allowed:
            told += f" By `{PROPERTY}` at most {allowed} in a row may be without files, so some commits were dropped."
        return Check(name=name, passed=completed <= allowed, sentence=f"{said} {told}")

    def _came_between(self, base: SnapshotId, first: Snapshot) -> tuple[bool, str]:
        """(Whether what others committed between `base` and the run's `first` commit above it may hold what the run
        reads again, who they are; empty where nobody has). A commit by Flink binds, unless it is another job's that
        surely wrote beside the job; one by another engine, a compaction among them, does not. Raises CouldNotLook."""
        below = list(self._table.ancestors(first.snapshot_id))[1:]
        others = list(takewhile(lambda s: s.snapshot_id != base, below))[::-1]
        job, by_flink = self._start.job, frozenset(each.job_id for each in others if each.job_id is not None)
        binding: list[Snapshot] = []
        if by_flink:
            runs = self._world.jobs[job].flink.runs(job)
            bound = {
                s.snapshot_id
                for s in commits_that_bind(case_with_owners(self._world, job, self.job_id, runs, by_flink))
            }
            binding = [each for each in others if each.job_id is not None and each.snapshot_id in bound]
        told = [f"{short(each.snapshot_id)} by {committer(each)}" for each in binding or others]
        who = few(told, 3)
        if binding:
            return True, (
                f"Before that came {who}. It is not known to be of another job, so it may have written the same rows."
            )
        return False, f"Before that came {who}, which is not of this job." if others else ""

    def _told_of(self, skipped: range) -> tuple[int, str]:
        """(how many of these checkpoints Flink calls completed, what is known of all of them)."""
        listed = {c.checkpoint_id: c.status for c in self.run.checkpoints} if self.run is not None else {}
        completed, failed = (
            sum(listed.get(CheckpointId(each)) == status for each in skipped) for status in ("COMPLETED", "FAILED")
        )
        parts = (
            (completed, "completed, with no files to commit"),
            (failed, "failed"),
            (len(skipped) - completed - failed, "no longer listed by Flink; one without files is not committed"),
        )
        between = f"checkpoint {skipped[0]}" if len(skipped) == 1 else f"checkpoints {skipped[0]} to {skipped[-1]}"
        return completed, f"Before that, of {between}: {'; '.join(f'{n} {what}' for n, what in parts if n)}."


def own_id(flink: FlinkJobs, asked: JobId) -> JobId:
    """The id under which the run commits: `asked`, or the one that the cluster chose for that start (an operator
    chooses its own). `asked` where Flink cannot be asked."""
    try:
        run = flink.run(asked)
    except CouldNotLook:
        return asked
    return run.job_id if run is not None else asked


def standing(run: JobRun) -> str:
    """How the run stands, with the newest cause that Flink tells where it does not simply run."""
    said = f"Run {short_job(run.job_id)} is {run.state}"
    if run.state == "RUNNING" and not run.is_settled:
        waiting = run.waiting[0]
        said += f", and its operator {waiting.name} is {waiting.status}"
    newest = None if run.is_settled else max(run.failures, key=lambda each: each.at, default=None)
    return f"{said}." if newest is None else f"{said}. Flink says: {newest.exception}: {newest.message.rstrip('.')}."


T = TypeVar("T", bound=StartJob | StartFromStop)


class _Starting(EffectHandler[T]):
    """The job id is chosen before the request, and Flink accepts an id once: that makes it exactly one run."""

    uses_up = frozenset({"restore-point-intact", "nobody-writes", "head-descends", "start-possible", "sibling-spared"})

    def prepare(
        self, effect: T, intent: EffectStarted, world: CurrentState, earlier: EffectStarted | None
    ) -> EffectStarted:
        """Fixes job id and head. An earlier intent's id is used again: should that request still arrive, Flink takes
        only one of the two."""
        job_id = (earlier.job_id if earlier else None) or JobId(uuid.uuid4().hex)
        return intent.model_copy(update={"job_id": job_id, "expected_head": world.table.head})

    def perform(self, effect: T, intent: EffectStarted, clients: Clients) -> EffectResult:
        """`result`: `job_id`, and `run`, the id under which the run commits."""
        start, flink = _as_start(effect, intent), clients.jobs[effect.job].flink
        job_id = _chosen(intent)
        flink.start(start.job, start.path, job_id)
        return EffectResult(
            sentence=f"Run {short_job(job_id)} started from checkpoint {start.checkpoint_id}.",
            result={"job_id": job_id, "run": own_id(flink, job_id)},
        )

    def verify(self, effect: T, intent: EffectStarted, clients: Clients) -> Verification:
        """By the id. One that is not there was not started only if nobody may start it yet by what was asked for."""
        flink, job_id = clients.jobs[effect.job].flink, _chosen(intent)
        run = flink.run(job_id)
        if run is None:
            missing, asked = f"Flink does not know run {short_job(job_id)}.", flink.still_asked_to_start(job_id)
            if asked is None:
                return Verification(happened="no", sentence=missing)
            return Verification(happened="unknown", sentence=f"{missing} {asked}")
        return Verification(
            happened="yes",
            sentence=f"Run {short_job(job_id)} is {run.state}.",
            result={"job_id": job_id, "run": run.job_id},
        )

    def awaits(self, effect: T, intent: EffectStarted, world: CurrentState) -> Pending | None:
        """That the run has settled, has brought what was owed, and has committed twice: the second commit shows that
        the first was not the last. Nothing of a run that has ended."""
        began = _began(effect, intent, world)
        run = began.run
        if began.unseen is not None:
            return Pending(sentence=began.unseen)
        if run is None:
            return Pending(sentence=f"Flink does not know run {short_job(began.job_id)} yet.")
        if run.is_terminal:
            return None
        every = timedelta(milliseconds=run.checkpoint_interval_ms) if run.checkpoint_interval_ms else None
        if not run.is_settled:
            return Pending(sentence=standing(run), every=every)
        open_ones = [check for check in began.progress() if not check.passed]
        if open_ones and not began.commits:
            return Pending(sentence=open_ones[0].sentence, every=every)
        if len(began.commits) != 1:
            return None
        return Pending(sentence=f"Run {short_job(run.job_id)} has committed once.", is_needed=False)

    def checks(self, effect: T, intent: EffectStarted, world: CurrentState) -> tuple[Check, ...]:
        """What was owed is there, the first commit stands on the snapshot that pairs, the run was restored there, runs,
        and has gone on."""
        began = _began(effect, intent, world)
        return *began.progress(), began.came_up()


def _began(effect: StartJob | StartFromStop, intent: EffectStarted, world: CurrentState) -> Began:
    return Began(_as_start(effect, intent), _chosen(intent), world)


def _chosen(intent: EffectStarted) -> JobId:
    assert intent.job_id is not None
    return intent.job_id


def _as_start(effect: StartJob | StartFromStop, intent: EffectStarted) -> StartJob:
    if isinstance(effect, StartJob):
        return effect
    assert intent.path is not None
    assert intent.checkpoint_id is not None
    return StartJob(
        job=effect.job,
        path=intent.path,
        checkpoint_id=intent.checkpoint_id,
        on_top_of=intent.expected_head,
    )


class StartingJob(_Starting[StartJob]):
    def describe(self, effect: StartJob) -> str:
        return f"Start from checkpoint {effect.checkpoint_id}"


class StartingFromStop(_Starting[StartFromStop]):
    """The restore point is looked for on storage, after the stop: what Flink said of it may have been lost."""

    finds_its_point = True

    def describe(self, effect: StartFromStop) -> str:
        return f"Start from where run {short_job(effect.job_id)} stopped"

    def prepare(
        self, effect: StartFromStop, intent: EffectStarted, world: CurrentState, earlier: EffectStarted | None
    ) -> EffectStarted:
        """Fixes restore point, head and job id. Raises Superseded where nothing of the run pairs with the head."""
        point = newest_that_pairs(world, effect.job, effect.job_id)
        chosen = {"path": point.path, "checkpoint_id": point.checkpoint_id}
        return super().prepare(effect, intent.model_copy(update=chosen), world, earlier)


class KeepingSavepoint(EffectHandler[KeepSavepoint]):
    """The tag outlives every expiry, and with it the one table state that this savepoint may be restored against."""

    finds_its_point = True

    def describe(self, effect: KeepSavepoint) -> str:
        return "Prove the savepoint and tag its snapshot"

    def prepare(
        self, effect: KeepSavepoint, intent: EffectStarted, world: CurrentState, earlier: EffectStarted | None
    ) -> EffectStarted:
        """Fixes savepoint and snapshot. Raises Superseded where nothing of the run pairs with the head."""
        point = newest_that_pairs(world, effect.job, effect.job_id)
        chosen = {"path": point.path, "checkpoint_id": point.checkpoint_id, "expected_head": point.snapshot_id}
        return intent.model_copy(update=chosen)

    def perform(self, effect: KeepSavepoint, intent: EffectStarted, clients: Clients) -> EffectResult:
        """One commit. `result`: `savepoint`, `checkpoint`, `snapshot`, `tag`, `schema`, `code`. Raises Superseded
        where the tag's name is taken."""
        tag, snapshot = _tag(effect, intent)

        def change(table: TableState) -> TableChange | None:
            found = table.ref(tag)
            if found == snapshot:
                return None
            if found is not None:
                raise _taken(effect, intent, found)
            return TableChange(expected_uuid=table.uuid, expected_head=None, new_tags={tag: snapshot})

        commit_marks(clients.catalog, effect.table, change)
        return EffectResult(sentence=_kept(effect, intent), result=_record(effect, intent, clients))

    def verify(self, effect: KeepSavepoint, intent: EffectStarted, clients: Clients) -> Verification:
        """By the tag."""
        tag, snapshot = _tag(effect, intent)
        if clients.catalog.load(effect.table).ref(tag) != snapshot:
            return Verification(happened="no", sentence=f"There is no tag {tag}.")
        return Verification(happened="yes", sentence=_kept(effect, intent), result=_record(effect, intent, clients))

    def checks(self, effect: KeepSavepoint, intent: EffectStarted, world: CurrentState) -> tuple[Check, ...]:
        tag, snapshot = _tag(effect, intent)
        return tag_check(tag, snapshot, world.table), _still_pairs(effect, intent, snapshot, world)


def _still_pairs(effect: KeepSavepoint, intent: EffectStarted, snapshot: SnapshotId, world: CurrentState) -> Check:
    name = f"Savepoint {intent.checkpoint_id} can be read and pairs with {short(snapshot)}"
    try:
        ports = world.jobs[effect.job]
        stored, runs = ports.checkpoints.read(intent.path or ""), ports.flink.runs(effect.job)
    except CouldNotLook as error:
        return Check(name=name, passed=None, sentence=str(error))
    found = pairing(stored, world.table, Seen(source="Flink", values=runs))
    passed = found.verdict is PairVerdict.PAIRED and found.snapshot_id == snapshot
    return Check(name=name, passed=passed, sentence=f"{found.path}: {found.verdict.value}. {found.reason}")


def _tag(effect: KeepSavepoint, intent: EffectStarted) -> tuple[str, SnapshotId]:
    assert intent.expected_head is not None
    return f"savepoint-{intent.checkpoint_id}-{effect.tagged}", intent.expected_head


def _taken(effect: KeepSavepoint, intent: EffectStarted, found: SnapshotId) -> Superseded:
    tag, snapshot = _tag(effect, intent)
    return Superseded(
        f"Run {short_job(effect.job_id)} is stopped, but its savepoint is not kept: the name of its tag is taken.",
        f"Expected no tag {tag}; it is on {short(found)}. {intent.path} pairs with {short(snapshot)}: no row is lost.",
        "`/waterline undo` starts the job again from exactly this savepoint. Then propose the savepoint again; it "
        "gets another name.",
    )


def _kept(effect: KeepSavepoint, intent: EffectStarted) -> str:
    tag, snapshot = _tag(effect, intent)
    return f"{intent.path} pairs with {short(snapshot)}, which tag {tag} keeps. It is the authoritative savepoint."


def _record(effect: KeepSavepoint, intent: EffectStarted, clients: Clients) -> dict[str, str]:
    tag, snapshot = _tag(effect, intent)
    table, run = clients.catalog.load(effect.table), clients.jobs[effect.job].flink.run(effect.job_id)
    kept = table.by_id.get(snapshot)
    return {
        "savepoint": intent.path or "",
        "checkpoint": str(intent.checkpoint_id),
        "snapshot": str(snapshot),
        "tag": tag,
        "schema": str(kept.schema_id) if kept and kept.schema_id is not None else "unknown",
        "code": (run.code_version if run else None) or "unknown",
    }
