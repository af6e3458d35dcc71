"""The operator's resource in motion: changed as it was read, and watched until it has come where it was sent."""

from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

from bot.adapters.flink_operator_api import Conflict, KubernetesResource
from bot.adapters.flink_operator_resource import FlinkResource, resource_of
from bot.adapters.polling import polled
from bot.domain.errors import CouldNotLook, OutcomeUnknown, Superseded

T = TypeVar("T")
_CONFLICTS = 8
"""So often a status that the operator wrote in between is passed over."""


class OperatedResource:
    """One resource that the operator carries out."""

    def __init__(self, kubernetes: KubernetesResource, poll_every: timedelta) -> None:
        self._kubernetes = kubernetes
        self._poll_s = poll_every.total_seconds()
        self.name = kubernetes.name

    def close(self) -> None:
        """Gives the connections back."""
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
                f"Which settings {self.name} has from its session cluster cannot be seen.",
                f"Expected to read {kubernetes.name}; {error.happened} {error.found}",
                f"Check that {kubernetes.name} is there, and give Waterline's service account the right to get it "
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
        seen = first
        for _ in range(_CONFLICTS):
            if seen.metadata.generation != first.metadata.generation or seen.metadata.uid != first.metadata.uid:
                raise Superseded(
                    f"{self.name} was changed by {seen.last_writer}.",
                    f"Expected generation {first.metadata.generation}; found {seen.metadata.generation}.",
                    "Nothing of ours was changed. Collect evidence again and propose anew.",
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
            f"{self.name} was not changed: it did not stand still.",
            f"Expected one of {_CONFLICTS} tries to meet it as it was read; found it changed each time.",
            "Look at the operator's log, then execute again.",
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
            f"Whether {doing} happened is not known.",
            f"Expected it within {limit.total_seconds():g} s; found {found}.",
            f"Look at {self.name} and the operator's log; do not repeat it before that.",
        )

    def told(self, seen: FlinkResource) -> str:
        """How it stands, in words: lifecycle, job, how far the operator is behind, and what it complains of."""
        words = f"{self.name} {seen.status.lifecycle or 'not yet seen by the operator'}"
        state = f", job {seen.status.job.state}" if seen.status.job.state else ""
        behind = "" if seen.is_reconciled else f", the operator at generation {seen.status.generation}"
        return f"{words}{state}{behind}{f', which says: {seen.status.trouble}' if seen.status.trouble else ''}"
