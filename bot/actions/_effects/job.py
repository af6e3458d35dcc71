"""Stop a run for good, keeping its last state, and start the job from a restore point, exactly once."""

import uuid
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from itertools import takewhile
from typing import TypeVar

from bot.actions._effects.kind import Awaited, Did, Hands, Kind, Looked
from bot.actions._foreseen import case_with_owners, committer
from bot.actions._requirements import World
from bot.actions._restore_points import asked_before, newest_that_pairs
from bot.domain.checkpoint_pace import PROPERTY, empty_commits_allowed
from bot.domain.effects import StartFromStop, StartJob, StopFork, StopJob
from bot.domain.entries import Check, EffectStarted
from bot.domain.errors import CouldNotLook, NotThere
from bot.domain.flink import JobRun
from bot.domain.guests import commits_that_bind
from bot.domain.ids import CheckpointId, JobId, SnapshotId, short, short_job
from bot.domain.requirements import NobodyWrites, Requirement, RunIsCurrent
from bot.domain.sentences import clock_time
from bot.domain.table import Snapshot, TableState
from bot.ports import FlinkJobs

S = TypeVar("S", bound=StopJob | StopFork)


class _Stopping(Kind[S]):
    """Stop-with-savepoint, never drained, where the run is settled; else cancel, but never of state that is needed.

    Always a cancel where what follows starts from a checkpoint of the run: Flink deletes it after a savepoint."""

    def perform(self, effect: S, intent: EffectStarted, hands: Hands) -> Did:
        """`result`: `savepoint`, if one was taken. What the run may have owned is left the time to go, so that the
        requirements of what follows find it gone."""
        ports = hands.jobs[effect.job]
        how = effect if isinstance(effect, StopJob) else StopJob(job=effect.job, job_id=effect.job_id)
        stopped = ports.flink.stop(
            how.job, how.job_id, needs_state=how.needs_state, keeps_checkpoints=how.keeps_checkpoints
        )
        if how.may_delete is not None:
            with suppress(CouldNotLook):  # the requirement is looked at once more, and says so
                ports.checkpoints.outlasts(how.may_delete)
        return Did(sentence=stopped.sentence, result={"savepoint": stopped.savepoint} if stopped.savepoint else {})

    def verify(self, effect: S, intent: EffectStarted, hands: Hands) -> Looked:
        """By the run's state, as the cluster tells it, else as the history server remembers it. One that goes on was
        not stopped only if nobody may stop it yet by what was asked for."""
        ports, short = hands.jobs[effect.job], short_job(effect.job_id)
        run = ports.flink.run(effect.job_id)
        if run is not None:
            asked = None if run.is_terminal else ports.flink.still_asked_to_stop(effect.job_id)
            if asked is not None:
                return Looked(happened="unknown", sentence=f"Run {short} is {run.state}. {asked}")
            return Looked(happened="yes" if run.is_terminal else "no", sentence=f"Run {short} is {run.state}.")
        past = ports.history.past_run(effect.job_id) if ports.history is not None else None
        if past is not None and past.is_terminal:
            return Looked(happened="yes", sentence=f"Run {short} is {past.state}, by the history server.")
        alive = ", ".join(short_job(each.job_id) for each in ports.flink.runs(effect.job) if not each.is_terminal)
        history = "neither does its history server" if ports.history is not None else "no history server is configured"
        return Looked(
            happened="unknown",
            sentence=f"Flink does not know run {short} any more, and {history}. Alive under the name {effect.job}: "
            f"{alive or 'no run'}.",
        )

    def may_yet(self, effect: S, hands: Hands) -> str | None:
        """A savepoint that takes longer than anybody has waited."""
        return hands.jobs[effect.job].flink.stop_at_work(effect.job_id)

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

    def checks(self, effect: StopFork, intent: EffectStarted, world: World) -> tuple[Check, ...]:
        kept = effect.keeps_of or effect.job
        beside = "" if kept == effect.job else f", and none of {effect.job}"
        name = f"Only run {short_job(effect.keeps)} of {kept} is alive{beside}"
        try:
            live = [run for job in dict.fromkeys((kept, effect.job)) for run in world.live(job)]
        except CouldNotLook as error:
            return (Check(name=name, passed=None, sentence=str(error)),)
        found = ", ".join(short_job(job_id) for job_id in live) or "none"
        return (Check(name=name, passed=live == [effect.keeps], sentence=f"Alive: {found}."),)


_SOURCE = "Source"


def other_operator(effect: StartJob, ancestors: Sequence[Snapshot], commits: Sequence[Snapshot], run: JobId) -> Check:
    """The sink's new uid shows in its commits. `ancestors`: of the snapshot on which the run began."""
    before = {s.operator_id for s in ancestors} | {effect.leaves_operator}
    found = ", ".join(dict.fromkeys(short_job(s.operator_id) for s in commits if s.operator_id)) or "none"
    return Check(
        name="It commits under another operator id",
        passed=bool(commits) and all(s.operator_id not in before for s in commits),
        sentence=f"Run {short_job(run)} commits under operator {found}.",
    )


def source_kept(effect: StartJob, run: JobId, world: World) -> Check:
    """Flink leaves behind every state that no operator of the new graph takes, a source's too, and says so nowhere: a
    source that was given another id begins anew."""
    name = "The source continued from the restore point's state"
    ports = world.jobs[effect.job]
    try:
        graph, stored = ports.flink.run(run), ports.checkpoints.read(effect.path)
    except (CouldNotLook, NotThere) as error:
        return Check(name=name, passed=None, sentence=str(error))
    sources = [each for each in (graph.vertices if graph else ()) if each.name.startswith(_SOURCE)]
    if not sources or stored.not_understood is not None:
        why = stored.not_understood or "Flink's graph names no source."
        return Check(name=name, passed=None, sentence=f"This could not be checked: {why}")
    anew = [each.name for each in sources if each.vertex_id not in stored.operator_ids]
    return Check(
        name=name,
        passed=not anew,
        sentence=f"{effect.path} holds no state for {', '.join(anew)}, which started from the beginning. Its rows "
        "may be duplicated."
        if anew
        else f"The state of {', '.join(each.name.split(' -> ')[0] for each in sources)} was found in {effect.path}.",
    )


_NAMED = 3


def _came_between(job: str, run: JobId, base: SnapshotId, first: Snapshot, world: World) -> tuple[bool, str]:
    """(Whether what others committed between `base` and the run's `first` commit above it may hold what the run reads
    again, who they are; empty where nobody has). A commit by Flink binds, unless it is a guest's that surely wrote
    beside the job; one by another engine, a compaction among them, does not. Raises CouldNotLook."""
    below = list(world.table.ancestors(first.snapshot_id))[1:]
    others = list(takewhile(lambda s: s.snapshot_id != base, below))[::-1]
    by_flink = frozenset(each.job_id for each in others if each.job_id is not None)
    binding: list[Snapshot] = []
    if by_flink:
        case = case_with_owners(world, job, run, world.jobs[job].flink.runs(job), by_flink)
        bound = {s.snapshot_id for s in commits_that_bind(case)}
        binding = [each for each in others if each.job_id is not None and each.snapshot_id in bound]
    who = _named(binding or others)
    if binding:
        return True, (
            f"Before that came {who}. It is not known to be of another job, so it may have written the same rows."
        )
    return False, f"Before that came {who}, which is not of this job." if others else ""


def _named(commits: list[Snapshot]) -> str:
    told = ", ".join(f"{short(each.snapshot_id)} by {committer(each)}" for each in commits[:_NAMED])
    return told if len(commits) <= _NAMED else f"{told} and {len(commits) - _NAMED} more"


def own_id(flink: FlinkJobs, asked: JobId) -> JobId:
    """The id under which the run commits: `asked`, or the one that the cluster chose for that start (an operator
    chooses its own). `asked` where Flink cannot be asked: then its commits are not found, and that is said."""
    try:
        run = flink.run(asked)
    except CouldNotLook:
        return asked
    return run.job_id if run is not None else asked


def commits_after(table: TableState, base: SnapshotId, job_id: JobId) -> tuple[Snapshot, ...]:
    """Commits of run `job_id` on main after `base`, oldest first."""
    return tuple(s for s in _after(table, base) if s.job_id == job_id)


def standing(run: JobRun) -> str:
    """How the run stands, with the newest cause that Flink tells where it does not simply run."""
    said = f"Run {short_job(run.job_id)} is {run.state}"
    if run.state == "RUNNING" and not run.is_settled:
        waiting = run.waiting[0]
        said += f", and its operator {waiting.name} is {waiting.status}"
    newest = None if run.is_settled else max(run.failures, key=lambda each: each.at, default=None)
    return f"{said}." if newest is None else f"{said}. Flink says: {newest.exception}: {newest.message.rstrip('.')}."


def run_check(effect: StartJob, job_id: JobId, world: World) -> Check:
    """It was restored there, and runs with every operator. A failover of its own since then is restored from a later
    checkpoint."""
    name = f"The job runs from checkpoint {effect.checkpoint_id}"
    try:
        run = world.jobs[effect.job].flink.run(job_id)
    except CouldNotLook as error:
        return Check(name=name, passed=None, sentence=str(error))
    if run is None:
        return Check(name=name, passed=False, sentence=f"Flink does not know run {short_job(job_id)}.")
    if run.restored is None:
        return Check(name=name, passed=False, sentence=f"{standing(run)} It shows no restore.")
    restored = run.restored.checkpoint_id
    is_from_there = restored == effect.checkpoint_id
    has_failed_over = run.restored_count > 1 and restored > effect.checkpoint_id and not run.restored.is_savepoint
    found = f"{standing(run)} It was restored from checkpoint {restored}"
    return Check(
        name=name,
        passed=run.is_settled and (is_from_there or has_failed_over),
        sentence=f"{found}, one of its own, after a failure since the start." if has_failed_over else f"{found}.",
    )


def owed_check(effect: StartJob, job_id: JobId, table: TableState) -> Check | None:
    """What the restore point held beyond the table is committed first, under the id of the run that wrote it. None
    where nothing is owed, or the record does not say."""
    owed = effect.owes
    if owed is None:
        return None
    paid = [
        s
        for s in _after(table, owed.head)
        if s.job_id not in {None, job_id}
        and s.checkpoint_id is not None
        and owed.checkpoint_id <= s.checkpoint_id <= effect.checkpoint_id
    ]
    return Check(
        name=f"Main has the pending files of checkpoint {owed.checkpoint_id}, after {short(owed.head)}",
        passed=bool(paid),
        sentence=f"Commit {short(paid[0].snapshot_id)} added them, as checkpoint {paid[0].checkpoint_id}."
        if paid
        else f"No commit after {short(owed.head)} has added them.",
    )


def goes_on_check(effect: StartJob, job_id: JobId, world: World) -> Check:
    """A checkpoint after the restore point is completed or committed: a run that only came up shows none."""
    name = f"The job has continued after checkpoint {effect.checkpoint_id}"
    flink, run = world.jobs[effect.job].flink, None
    try:
        run = flink.run(job_id)
    except CouldNotLook as error:
        return Check(name=name, passed=None, sentence=str(error))
    own = run.job_id if run is not None else job_id
    committed = [s.checkpoint_id for s in world.table.chain if s.job_id == own and s.checkpoint_id is not None]
    completed = [c.checkpoint_id for c in run.checkpoints if c.status == "COMPLETED"] if run is not None else []
    newest = max((*committed, *completed), default=CheckpointId(0))
    if newest <= effect.checkpoint_id:
        return Check(name=name, passed=False, sentence=f"Run {short_job(own)} has completed no checkpoint yet.")
    did = "committed" if newest in committed else "completed"
    return Check(name=name, passed=True, sentence=f"Run {short_job(own)} has {did} checkpoint {newest}.")


def commit_check(effect: StartJob, base: SnapshotId, job_id: JobId, world: World) -> Check:
    """The first commit is of a checkpoint after the restore point, on top of the snapshot that pairs. Between the two
    may lie what does not bind the job: commits of other engines, and of guests. Ids in between are those of checkpoints
    that failed, or had no files: the sink leaves these out for a while."""
    name = f"The first commit is of a later checkpoint than {effect.checkpoint_id}, on top of {short(base)}"
    commits = commits_after(world.table, base, job_id)
    if not commits:
        return Check(name=name, passed=False, sentence=f"Run {short_job(job_id)} has not committed yet.")
    first = commits[0]
    ids = ", ".join(str(s.checkpoint_id) for s in commits[:6])
    said = f"Run {short_job(job_id)} committed checkpoints {ids} on top of {short(first.parent_id)}."
    if base not in world.table.chain_ids or first.checkpoint_id is None or first.checkpoint_id <= effect.checkpoint_id:
        return Check(name=name, passed=False, sentence=said)
    try:
        is_bound, between = _came_between(effect.job, job_id, base, first, world)
    except CouldNotLook as error:
        return Check(name=name, passed=None, sentence=str(error))
    said = f"{said} {between}".rstrip()
    if is_bound:
        return Check(name=name, passed=False, sentence=said)
    skipped = range(effect.checkpoint_id + 1, first.checkpoint_id)
    if not skipped:
        return Check(name=name, passed=True, sentence=said)
    completed, told = _told_of(skipped, effect.job, job_id, world)
    allowed = empty_commits_allowed(world.table.properties)
    if completed > allowed:
        told += f" By `{PROPERTY}` at most {allowed} in a row may be without files, so some commits were dropped."
    return Check(name=name, passed=completed <= allowed, sentence=f"{said} {told}")


def _told_of(skipped: range, job: str, job_id: JobId, world: World) -> tuple[int, str]:
    """(how many of these checkpoints Flink calls completed, what is known of all of them)."""
    try:
        run = world.jobs[job].flink.run(job_id)
    except CouldNotLook:
        run = None
    listed = {c.checkpoint_id: c.status for c in run.checkpoints} if run is not None else {}
    completed = [each for each in skipped if listed.get(CheckpointId(each)) == "COMPLETED"]
    failed = [each for each in skipped if listed.get(CheckpointId(each)) == "FAILED"]
    others = len(skipped) - len(completed) - len(failed)
    parts = (
        (len(completed), "completed, with no files to commit"),
        (len(failed), "failed"),
        (others, "no longer listed by Flink; one without files is not committed"),
    )
    between = f"checkpoint {skipped[0]}" if len(skipped) == 1 else f"checkpoints {skipped[0]} to {skipped[-1]}"
    return len(completed), f"Before that, of {between}: {'; '.join(f'{n} {what}' for n, what in parts if n)}."


def _after(table: TableState, base: SnapshotId) -> tuple[Snapshot, ...]:
    kept = {s.snapshot_id for s in table.ancestors(base)}
    return tuple(s for s in reversed(table.chain) if s.snapshot_id not in kept)


T = TypeVar("T", bound=StartJob | StartFromStop)


class _Starting(Kind[T]):
    """The job id is chosen before the request, and Flink accepts an id once: that makes it exactly one run."""

    uses_up = frozenset({"restore-point-intact", "nobody-writes", "head-descends", "start-possible", "sibling-spared"})

    def prepare(self, effect: T, intent: EffectStarted, world: World, earlier: EffectStarted | None) -> EffectStarted:
        """Fixes job id and head. An earlier intent's id is used again: should that request still arrive, Flink takes
        only one of the two."""
        job_id = (earlier.job_id if earlier else None) or JobId(uuid.uuid4().hex)
        return intent.model_copy(update={"job_id": job_id, "expected_head": world.table.head})

    def perform(self, effect: T, intent: EffectStarted, hands: Hands) -> Did:
        """`result`: `job_id`, and `run`, the id under which the run commits."""
        start, flink = _as_start(effect, intent), hands.jobs[effect.job].flink
        job_id = _chosen(intent)
        flink.start(
            start.job, start.path, job_id, allow_non_restored=start.allow_non_restored, uid_suffix=start.uid_suffix
        )
        return Did(
            sentence=f"Run {short_job(job_id)} started from checkpoint {start.checkpoint_id}.",
            result={"job_id": job_id, "run": own_id(flink, job_id)},
        )

    def verify(self, effect: T, intent: EffectStarted, hands: Hands) -> Looked:
        """By the id. One that is not there was not started only if nobody may start it yet by what was asked for."""
        flink, job_id = hands.jobs[effect.job].flink, _chosen(intent)
        run = flink.run(job_id)
        if run is None:
            missing, asked = f"Flink does not know run {short_job(job_id)}.", flink.still_asked_to_start(job_id)
            if asked is None:
                return Looked(happened="no", sentence=missing)
            return Looked(happened="unknown", sentence=f"{missing} {asked}")
        return Looked(
            happened="yes",
            sentence=f"Run {short_job(job_id)} is {run.state}.",
            result={"job_id": job_id, "run": run.job_id},
        )

    def awaits(self, effect: T, intent: EffectStarted, world: World) -> Awaited | None:
        """That the run has settled, has brought what was owed, and has committed twice: the second commit shows that
        the first was not the last. Nothing of a run that has ended."""
        start = _as_start(effect, intent)
        job_id = _chosen(intent)
        try:
            run = world.jobs[effect.job].flink.run(job_id)
        except CouldNotLook as error:
            return Awaited(sentence=str(error))
        if run is None:
            return Awaited(sentence=f"Flink does not know run {short_job(job_id)} yet.")
        if run.is_terminal:
            return None
        every = timedelta(milliseconds=run.checkpoint_interval_ms) if run.checkpoint_interval_ms else None
        if not run.is_settled:
            return Awaited(sentence=standing(run), every=every)
        open_ones = [check for check in _progress(start, job_id, run.job_id, world) if not check.passed]
        has_committed = start.on_top_of and commits_after(world.table, start.on_top_of, run.job_id)
        if open_ones and not has_committed:
            return Awaited(sentence=open_ones[0].sentence, every=every)
        if not has_committed or len(has_committed) > 1:
            return None
        return Awaited(sentence=f"Run {short_job(run.job_id)} has committed once.", is_needed=False)

    def checks(self, effect: T, intent: EffectStarted, world: World) -> tuple[Check, ...]:
        """What was owed is there, the first commit stands on the snapshot that pairs, the run was restored there, runs,
        and has gone on."""
        start = _as_start(effect, intent)
        asked = _chosen(intent)
        job_id = own_id(world.jobs[effect.job].flink, asked)
        found = (*_progress(start, asked, job_id, world), run_check(start, asked, world))
        if start.on_top_of is None or not (start.allow_non_restored and start.uid_suffix):
            return found
        commits = commits_after(world.table, start.on_top_of, job_id)
        other = other_operator(start, tuple(world.table.ancestors(start.on_top_of)), commits, job_id)
        return *found[:-1], other, source_kept(start, asked, world), found[-1]


def _progress(effect: StartJob, asked: JobId, own: JobId, world: World) -> tuple[Check, ...]:
    if effect.on_top_of is not None:
        return (commit_check(effect, effect.on_top_of, own, world),)
    owed = owed_check(effect, own, world.table)
    return *([owed] if owed is not None else []), goes_on_check(effect, asked, world)


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
        uid_suffix=effect.uid_suffix,
    )


class StartingJob(_Starting[StartJob]):
    def describe(self, effect: StartJob) -> str:
        return f"Start from checkpoint {effect.checkpoint_id}"


class StartingFromStop(_Starting[StartFromStop]):
    """The restore point is looked for on storage, after the stop: what Flink said of it may have been lost."""

    def asks(self, requirement: Requirement) -> Requirement:
        """See Kind: a commit that does not bind matters to no start."""
        return asked_before(requirement)

    def describe(self, effect: StartFromStop) -> str:
        return f"Start from where run {short_job(effect.job_id)} stopped"

    def prepare(
        self, effect: StartFromStop, intent: EffectStarted, world: World, earlier: EffectStarted | None
    ) -> EffectStarted:
        """Fixes restore point, head and job id. Raises Superseded where nothing of the run pairs with the head."""
        point = newest_that_pairs(world, effect.job, effect.job_id)
        chosen = {"path": point.path, "checkpoint_id": point.checkpoint_id}
        return super().prepare(effect, intent.model_copy(update=chosen), world, earlier)
