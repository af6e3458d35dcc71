"""A job that the Flink Kubernetes operator runs: read through Flink's REST, stopped and started through its resource.

The operator chooses the job id, so an id that we chose stands for a start of ours: its number is the redeploy nonce,
the operator deploys a nonce once, and `run` tells the run that came of it under that run's own id.
"""

from collections.abc import Callable, Collection
from datetime import timedelta
from typing import TypeVar

from bot.adapters.flink_http import polled
from bot.adapters.flink_operator_resource import (
    DRAIN,
    RETAINED,
    SAVEPOINT_DIR,
    FlinkResource,
    Kind,
    is_on,
    nonce_of,
    resource_of,
    savepoints_in,
)
from bot.adapters.flink_rest import FlinkRest
from bot.adapters.flink_starting import JOB_ID, digest_of
from bot.adapters.kubernetes import Conflict, KubernetesResource
from bot.observation.errors import CommitRefused, CouldNotLook, OutcomeUnknown, Superseded
from bot.observation.flink import JobRun
from bot.observation.ids import JobId, short_job
from bot.ports import NamedSavepoint, Stopped

T = TypeVar("T")
_CONFLICTS = 8
"""So often a status that the operator wrote in between is passed over."""


class OperatedResource:
    def __init__(self, kubernetes: KubernetesResource, poll_every: timedelta) -> None:
        self._kubernetes = kubernetes
        self._poll_s = poll_every.total_seconds()
        self.name = kubernetes.name

    def close(self) -> None:
        self._kubernetes.close()

    def read(self) -> FlinkResource:
        """As it is now, a session job with the settings of its cluster. Raises CouldNotLook; where only these cannot
        be seen, whoever asks for a setting hears it."""
        seen = resource_of(self._kubernetes.read(), self.name)
        return seen if seen.session_cluster is None else seen.over(self._settings_of(seen.session_cluster))

    def _settings_of(self, cluster: str) -> dict[str, object] | CouldNotLook:
        kubernetes = self._kubernetes.beside("FlinkDeployment", cluster)
        try:
            return resource_of(kubernetes.read(), kubernetes.name).settings
        except CouldNotLook as error:
            return CouldNotLook(
                f"The settings that {self.name} has from its session cluster cannot be read.",
                f"Expected to read {kubernetes.name}; {error.happened} {error.found}",
                f"Check that {kubernetes.name} exists. Give Waterline's service account the right to get it "
                "(deploy/kubernetes/flink-operator-rights.yaml), then try again.",
            )

    def change(
        self,
        doing: str,
        wanted: Callable[[FlinkResource], dict[str, object]],
        is_there: Callable[[FlinkResource], bool],
    ) -> None:
        """One change of the resource as it is now. The operator's own status may move in between, its spec may not.

        Raises Superseded, CommitRefused and CouldNotLook (surely not changed), OutcomeUnknown.
        """
        first = self.read()
        if (owner := first.blue_green) is not None:
            raise CommitRefused(
                f"{self.name} was not changed: it belongs to FlinkBlueGreenDeployment {owner}.",
                "Expected a resource that people write; a blue/green deployment would replace any change.",
                f"Do {doing} by hand in FlinkBlueGreenDeployment {owner}.",
            )
        seen = first
        for _ in range(_CONFLICTS):
            if seen.metadata.generation != first.metadata.generation or seen.metadata.uid != first.metadata.uid:
                raise Superseded(
                    f"{self.name} was changed by {seen.last_writer}.",
                    f"Expected generation {first.metadata.generation}; found {seen.metadata.generation}.",
                    "Waterline changed nothing. Collect evidence again and propose again.",
                )
            try:
                self._kubernetes.change(wanted(seen), doing)
            except Conflict:
                seen = self.read()
            except OutcomeUnknown:
                if is_there(self.read()):
                    return
                raise
            else:
                return
        raise CouldNotLook(
            f"{self.name} was not changed: others kept changing it.",
            f"Expected one of {_CONFLICTS} attempts to find it unchanged since it was read; it had changed each time.",
            "Look at the operator's log, then execute again.",
        )

    def savepoints(self) -> tuple[NamedSavepoint, ...]:
        """Its completed savepoints of which there is a FlinkStateSnapshot. Raises CouldNotLook."""
        kind, _, place = self.name.partition(" ")
        return savepoints_in(
            self._kubernetes.beside("FlinkStateSnapshot", "").read(), f"{kind} {place.partition('/')[2]}"
        )

    def until(self, ask: Callable[[FlinkResource], T | None], limit: timedelta, doing: str) -> T:
        """Reads the resource until there is an answer. Raises OutcomeUnknown at the limit, CouldNotLook never."""
        found = "no answer of the Kubernetes API server"

        def look() -> T | None:
            nonlocal found
            try:
                seen = self.read()
                answer = ask(seen)
                found = self.told(seen)
            except CouldNotLook as error:
                found = f"{error.happened} {error.found}"
                return None
            return answer

        answer = polled(look, limit.total_seconds(), self._poll_s)
        if answer is not None:
            return answer
        raise OutcomeUnknown(
            f"It is not known whether {doing} happened.",
            f"Expected it within {limit.total_seconds():g} s; found {found}.",
            f"Look at {self.name} and the operator's log. Do not repeat it before that.",
        )

    def told(self, seen: FlinkResource) -> str:
        """How it stands, in words: lifecycle, job, how far the operator is behind, and what it complains of."""
        words = f"{self.name} {seen.status.lifecycle or 'not yet seen by the operator'}"
        state = f", job {seen.status.job.state}" if seen.status.job.state else ""
        behind = "" if seen.is_reconciled else f", the operator at generation {seen.status.generation}"
        return f"{words}{state}{behind}{f', which says: {seen.status.trouble}' if seen.status.trouble else ''}"


def suspension_of(
    seen: FlinkResource, name: str, job_id: JobId, *, needs_state: bool, keeps_checkpoints: bool
) -> dict[str, object]:
    """The change that suspends run `job_id`. Raises Superseded where it is another run's resource now, CommitRefused
    where the state that is needed would not be left."""
    current = seen.status.job.job_id
    if current != job_id:
        raise Superseded(
            f"{name} now has another run.",
            f"Expected run {short_job(job_id)}; found {short_job(JobId(current)) if current else 'none'}.",
            "Nothing was changed. Collect evidence again and propose again.",
        )
    if is_on(seen.settings, DRAIN):
        raise CommitRefused(
            f"{name} was not suspended: that would drain it, and no job can continue from a drained state (F5).",
            f"Expected `{DRAIN}` not to be true; its flinkConfiguration sets it to true.",
            "Set it to false there, then propose again.",
        )
    if needs_state and seen.status.job.state == "RUNNING" and not seen.leaves_savepoint:
        raise CommitRefused(
            f"{name} was not suspended: that would leave no savepoint, and its state is needed.",
            f"Expected `{SAVEPOINT_DIR}` in its flinkConfiguration, or `upgradeMode: savepoint`; found neither. No "
            "state would then pair with commits after its newest checkpoint.",
            "Set a folder for savepoints there, then propose again. The run continues.",
        )
    if keeps_checkpoints and (why := seen.why_savepoint) is not None:
        raise CommitRefused(
            f"{name} was not suspended: that would delete the checkpoint to start from.",
            f"Expected the operator to suspend it without a savepoint; found: {why}.",
            "Copy that checkpoint's folder away with all files that it references, stop the job by hand and start "
            "it from the copy. Or restore from a savepoint. The run continues.",
        )
    return seen.to_suspend(keeps_checkpoints=keeps_checkpoints)


def restoration_of(seen: FlinkResource, resource: OperatedResource, path: str, nonce: int) -> dict[str, object]:
    """The change that starts the job from `path`. Raises Superseded where it runs or is about to, CommitRefused where
    it would run under its old id."""
    if not seen.is_at_rest:
        raise Superseded(
            f"{resource.name} is running or is about to run.",
            f"Expected it suspended or ended; found {resource.told(seen)}, changed last by {seen.last_writer}.",
            "It was not started. Collect evidence again and propose again.",
        )
    if JOB_ID in seen.settings:
        raise CommitRefused(
            f"{resource.name} was not started: its job id is pinned.",
            f"Expected a new id for a run from {path}; `{JOB_ID}` in {seen.place_of(JOB_ID)} keeps the old one. "
            "Under that id commits would be dropped (F3) and checkpoint folders already exist (F25).",
            "Remove that setting, then propose again.",
        )
    return seen.to_restore(path, nonce)


def about_to_start(seen: FlinkResource, name: str, job_id: JobId) -> Superseded:
    """The refusal to stop a run in whose place the operator may start another one at any time."""
    return Superseded(
        f"Run {short_job(job_id)} was not stopped: the operator is about to start its job.",
        f"Expected {name} to be reconciled; found: {seen.why_started}.",
        "Suspend it there, or wait until it has started. Then collect evidence again and propose again.",
    )


def stopped_by(before: FlinkResource, after: FlinkResource, job_id: JobId, *, keeps_checkpoints: bool) -> Stopped:
    """What a suspension has come to: how the run ended, and what it has left."""
    left = after.status.job.left_since(before.status.job)
    savepoint = left if left is not None and not RETAINED.fullmatch(left) else None
    if before.has_ended and savepoint is None:
        why = f" ({before.why_started})" if before.why_started is not None else ""
        told = f"Run {short_job(job_id)} had ended already, and its job might have been started again{why}"
        return Stopped(sentence=f"{told}: it is suspended now.", savepoint=None)
    kept = f"its retained checkpoint {left} stays" if left is not None else "its retained checkpoints stay"
    how = f"with savepoint {savepoint}" if savepoint else f"without a savepoint; {kept}"
    if savepoint and keeps_checkpoints:
        how += ", though none was asked for; Flink deletes the checkpoints of a run that ends with one"
    return Stopped(
        sentence=f"Run {short_job(job_id)} was suspended by the operator {how}. It is {after.status.job.state}.",
        savepoint=savepoint,
    )


class FlinkOperator:
    def __init__(
        self,
        rest: FlinkRest,
        resource: KubernetesResource,
        kind: Kind,
        *,
        stop_limit: timedelta,
        start_limit: timedelta,
        poll_every: timedelta = timedelta(seconds=1),
    ) -> None:
        self._rest = rest
        self._resource = OperatedResource(resource, poll_every)
        self._kind = kind
        self._stop_limit = stop_limit
        self._start_limit = start_limit

    def close(self) -> None:
        self._rest.close()
        self._resource.close()

    def runs(self, job: str) -> tuple[JobRun, ...]:
        """See the port. A suspended application's cluster may be gone, and with it all that Flink knew: then there
        are none. Raises CouldNotLook."""
        try:
            return self._rest.runs(job)
        except CouldNotLook as lost:
            if self._is_put_away(lost):
                return ()
            raise

    def runs_of_others(self, job: str, among: Collection[JobId]) -> tuple[JobRun, ...]:
        return self._rest.runs_of_others(job, among)

    def run(self, job_id: JobId) -> JobRun | None:
        """See the port: under our id of a start, the run that the operator made of it. Raises CouldNotLook."""
        lost: CouldNotLook | None = None
        try:
            found = self._rest.run(job_id)
            if found is not None:
                return found
        except CouldNotLook as error:
            lost = error
        seen = self._resource.read()
        if seen.job.nonce == nonce_of(job_id):
            return self._run_of(seen, job_id)
        if seen.is_suspended and seen.status.job.job_id == job_id:
            return seen.ended(job_id)
        if lost is not None:
            raise lost
        return None

    def snapshots(self) -> tuple[NamedSavepoint, ...]:
        return self._resource.savepoints()

    def stop(self, job: str, job_id: JobId, *, needs_state: bool = False, keeps_checkpoints: bool = False) -> Stopped:
        """See the port. A FlinkDeployment is suspended, never stateless: its cluster ends with it, and its checkpoints
        stay unless it takes a savepoint. One that runs and whose state is needed is suspended only with a savepoint;
        one whose checkpoints are needed, only where the operator takes none. A FlinkSessionJob is stopped through
        Flink: operators before the fix of FLINK-40374 cannot redeploy one that they suspended themselves. A run that
        has ended is left as it is only where the operator will not start the job again by itself."""
        before = self._resource.read()
        if self._kind == "FlinkSessionJob":
            if before.why_started is not None:
                raise about_to_start(before, self._resource.name, job_id)
            return self._rest.stop(job, job_id, needs_state=needs_state, keeps_checkpoints=keeps_checkpoints)
        if before.is_at_rest:
            return Stopped(
                sentence=f"Run {short_job(job_id)} had ended already: {self._resource.told(before)}; nothing was done.",
                savepoint=None,
            )
        doing = f"the stop of run {short_job(job_id)}"
        if before.job.state != "suspended":
            self._resource.change(
                doing,
                lambda seen: suspension_of(
                    seen, self._resource.name, job_id, needs_state=needs_state, keeps_checkpoints=keeps_checkpoints
                ),
                lambda seen: seen.job.state == "suspended",
            )
        after = self._resource.until(lambda seen: seen if seen.is_suspended else None, self._stop_limit, doing)
        return stopped_by(before, after, job_id, keeps_checkpoints=keeps_checkpoints)

    def still_asked_to_stop(self, job_id: JobId) -> str | None:
        """See the port: the operator comes back to what is asked for until it is so, or is asked for no more."""
        seen = self._resource.read()
        if seen.job.state != "suspended" or seen.status.job.job_id not in {None, job_id}:
            return None
        return f"It is still asked to be suspended, which the operator may do yet: {self._resource.told(seen)}."

    def stop_at_work(self, job_id: JobId) -> str | None:
        """See the port: a FlinkSessionJob is stopped through Flink; of others `still_asked_to_stop` tells."""
        return self._rest.stop_at_work(job_id) if self._kind == "FlinkSessionJob" else None

    def obstacle(self, job: str) -> str | None:  # noqa: ARG002 - there is one resource
        """See the port: a start that is asked for already and may come at any time, one that would take what it is
        started from, or another resource that decides. Raises CouldNotLook."""
        seen = self._resource.read()
        if (owner := seen.blue_green) is not None:
            return (
                f"{self._resource.name} belongs to FlinkBlueGreenDeployment {owner}, which replaces any change of it; "
                "stop and start the job there by hand"
            )
        if seen.is_start_open:
            return (
                f"{self._resource.name} is asked for a start already, which the operator may do at any time; suspend "
                "it there to take that back"
            )
        if seen.has_ended and (why := seen.why_started) is not None:
            return f"{self._resource.name} may be started by the operator at any time: {why}; suspend it there first"
        claims = seen.claims
        return (
            f"`{claims}: CLAIM` in {seen.place_of(claims)}, by which Flink deletes what it starts from"
            if claims
            else None
        )

    def declaration(self, job: str) -> str | None:  # noqa: ARG002 - there is one resource
        """See the port: the resource's spec but for what stops and starts of ours change. Raises CouldNotLook."""
        return digest_of(self._resource.read().declared)

    def start(self, job: str, path: str, job_id: JobId) -> None:
        """See the port. Safe to repeat: the nonce of a start is the same each time. Raises Superseded when the job
        runs or somebody changed the resource, CommitRefused."""
        nonce, doing = nonce_of(job_id), f"the start of {job} from {path}"
        if self._resource.read().job.nonce != nonce:
            self._await_rest(job)
            self._resource.change(
                doing,
                lambda seen: restoration_of(seen, self._resource, path, nonce),
                lambda seen: seen.job.nonce == nonce,
            )
        self._resource.until(lambda seen: self._made(seen, job_id), self._start_limit, doing)

    def still_asked_to_start(self, job_id: JobId) -> str | None:
        """See the port: the operator comes back to our nonce until another one is asked for, or a suspension."""
        seen = self._resource.read()
        if seen.job.nonce != nonce_of(job_id) or seen.job.state == "suspended":
            return None
        return f"It is still asked to be started, which the operator may do yet: {self._resource.told(seen)}."

    def _made(self, seen: FlinkResource, job_id: JobId) -> JobRun | None:
        """The run of that start, once Flink knows it; its REST may take a while to come up."""
        try:
            return self._run_of(seen, job_id)
        except CouldNotLook:
            return None

    def _run_of(self, seen: FlinkResource, job_id: JobId) -> JobRun | None:
        nonce, made = nonce_of(job_id), seen.status.job.job_id
        if seen.job.nonce != nonce or seen.deployed_nonce != nonce or made is None or not seen.is_reconciled:
            return None
        return self._rest.run(JobId(made))

    def _await_rest(self, job: str) -> None:
        """The operator looks at Flink every now and then: it may not have seen yet that the run has ended."""
        try:
            self._resource.until(lambda seen: seen if seen.is_at_rest else None, self._stop_limit, f"the end of {job}")
        except OutcomeUnknown as error:
            raise Superseded(
                f"Job {job} was not started: the operator reports that it runs or is about to run.",
                error.found,
                "Look at the job, then propose again.",
            ) from error

    def _is_put_away(self, lost: CouldNotLook) -> bool:
        """Whether Flink does not answer because the operator has suspended the application."""
        if self._kind != "FlinkDeployment":
            return False
        try:
            return self._resource.read().is_suspended
        except CouldNotLook as error:
            raise lost from error
