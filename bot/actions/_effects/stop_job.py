"""Stop a run for good, keeping its last state."""

from collections.abc import Sequence
from contextlib import suppress

from bot.actions._effects.kind import Did, Hands, Kind, Looked
from bot.actions._requirements import World
from bot.domain.effects import StartJob, StopFork, StopJob
from bot.domain.entries import Check, EffectStarted
from bot.domain.errors import CouldNotLook, NotThere
from bot.domain.ids import JobId, short_job
from bot.domain.requirements import NobodyWrites, Requirement, RunIsCurrent
from bot.domain.sentences import clock_time
from bot.domain.table import Snapshot, TableState


class StoppingJob(Kind[StopJob]):
    """Stop-with-savepoint, never drained, where the run is settled; else cancel, but never of state that is needed.

    Always a cancel where what follows starts from a checkpoint of the run: Flink deletes it after a savepoint."""

    uses_up = frozenset({"run-is-current", "plan-counts"})

    def leaves(self, effect: StopJob) -> tuple[Requirement, ...]:
        """From then on nobody may write."""
        return (NobodyWrites(job=effect.job),)

    def describe(self, effect: StopJob) -> str:
        return f"Stop run {short_job(effect.job_id)}"

    def perform(self, effect: StopJob, intent: EffectStarted, hands: Hands) -> Did:
        """`result`: `savepoint`, if one was taken. What the run may have owned is left the time to go, so that the
        requirements of what follows find it gone."""
        ports = hands.jobs[effect.job]
        stopped = ports.flink.stop(
            effect.job, effect.job_id, needs_state=effect.needs_state, keeps_checkpoints=effect.keeps_checkpoints
        )
        if effect.may_delete is not None:
            with suppress(CouldNotLook):  # the requirement is looked at once more, and says so
                ports.checkpoints.outlasts(effect.may_delete)
        return Did(sentence=stopped.sentence, result={"savepoint": stopped.savepoint} if stopped.savepoint else {})

    def verify(self, effect: StopJob, intent: EffectStarted, hands: Hands) -> Looked:
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
        alive = [short_job(each.job_id) for each in ports.flink.runs(effect.job) if not each.is_terminal]
        history = (
            "and neither does its history server"
            if ports.history is not None
            else "and no history server is configured"
        )
        return Looked(
            happened="unknown",
            sentence=f"Flink does not know run {short} any more, {history}. Alive under the name {effect.job}: "
            f"{', '.join(alive) or 'no run'}.",
        )

    def may_yet(self, effect: StopJob, hands: Hands) -> str | None:
        """A savepoint that takes longer than anybody has waited."""
        return hands.jobs[effect.job].flink.stop_at_work(effect.job_id)

    def on_table(self, effect: StopJob, table: TableState) -> str:
        """When it committed last: a run that was not stopped would go on."""
        name = f"Run {short_job(effect.job_id)}"
        last = next((snapshot for snapshot in table.chain if snapshot.job_id == effect.job_id), None)
        if last is None:
            return f"{name} has no commit on main."
        at = clock_time(last.committed_at, table.read_at, seconds=True)
        return f"{name} committed last at {at} (checkpoint {last.checkpoint_id}) and has not committed since."


_ALONE = StoppingJob()


class StoppingFork(Kind[StopFork]):
    """As StopJob does it; what must hold afterwards differs."""

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

    def perform(self, effect: StopFork, intent: EffectStarted, hands: Hands) -> Did:
        """`result`: `savepoint`, if one was taken."""
        return _ALONE.perform(StopJob(job=effect.job, job_id=effect.job_id), intent, hands)

    def verify(self, effect: StopFork, intent: EffectStarted, hands: Hands) -> Looked:
        """By the run's state."""
        return _ALONE.verify(StopJob(job=effect.job, job_id=effect.job_id), intent, hands)

    def may_yet(self, effect: StopFork, hands: Hands) -> str | None:
        """As of any stop."""
        return _ALONE.may_yet(StopJob(job=effect.job, job_id=effect.job_id), hands)

    def on_table(self, effect: StopFork, table: TableState) -> str:
        return _ALONE.on_table(StopJob(job=effect.job, job_id=effect.job_id), table)

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
