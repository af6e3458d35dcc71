"""A job that the Flink Kubernetes operator runs: read through Flink's REST, stopped and started through its resource.

The operator chooses the job id, so an id that we chose stands for a start of ours: its number is the redeploy nonce,
the operator deploys a nonce once, and `run` tells the run that came of it under that run's own id.
"""

from datetime import timedelta

from bot.adapters.flink_declaration import digest_of
from bot.adapters.flink_operator_api import KubernetesResource
from bot.adapters.flink_operator_changes import about_to_start, restoration_of, stopped_by, suspension_of
from bot.adapters.flink_operator_resource import FlinkResource, Kind, nonce_of
from bot.adapters.flink_operator_steps import OperatedResource
from bot.adapters.flink_rest import FlinkRest
from bot.domain.errors import CommitRefused, CouldNotLook, OutcomeUnknown, Superseded
from bot.domain.flink import JobRun
from bot.domain.ids import JobId, short_job
from bot.ports import Stopped


class FlinkOperator:
    """One FlinkDeployment or FlinkSessionJob."""

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
        """Gives the connections back."""
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
        """See the port: a start that is asked for already and may come at any time, or one that would take what it is
        started from. Raises CouldNotLook."""
        seen = self._resource.read()
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

    def start(
        self, job: str, path: str, job_id: JobId, *, allow_non_restored: bool = False, uid_suffix: str | None = None
    ) -> None:
        """See the port. Safe to repeat: the nonce of a start is the same each time. Raises Superseded when the job
        runs or somebody changed the resource, CommitRefused also for a `uid_suffix`, which stands in its image."""
        if uid_suffix is not None:
            raise CommitRefused(
                f"{self._resource.name} was not started: Waterline cannot give its sink another uid.",
                f"Expected the configured one; found the suffix {uid_suffix}.",
                "Change the uid in the job's own code.",
            )
        nonce, doing = nonce_of(job_id), f"the start of {job} from {path}"
        if self._resource.read().job.nonce != nonce:
            self._await_rest(job)
            self._resource.change(
                doing,
                lambda seen: restoration_of(seen, self._resource, path, nonce, allow_non_restored=allow_non_restored),
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
                f"Job {job} was not started: by the operator's word it runs or is about to.",
                error.found,
                "Look at it, propose anew.",
            ) from error

    def _is_put_away(self, lost: CouldNotLook) -> bool:
        """Whether Flink does not answer because the operator has suspended the application."""
        if self._kind != "FlinkDeployment":
            return False
        try:
            return self._resource.read().is_suspended
        except CouldNotLook as error:
            raise lost from error
