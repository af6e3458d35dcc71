"""The operator's hand on its resources: what its reconciler writes into `status`, by its own source, step by step.

The real operator does not run here; the API server, its schema and its rules are real.
"""

import json
from typing import Any

from tests.adapters.kubernetes import Kubernetes

NAMESPACE = "streaming"
API = f"/apis/flink.apache.org/v1beta1/namespaces/{NAMESPACE}"


class OperatorHand:
    """Carries out what one resource asks for, when the test says so."""

    def __init__(self, kubernetes: Kubernetes, kind: str, name: str) -> None:
        self._kubernetes = kubernetes
        self.kind = kind
        self.name = name
        self.path = f"{API}/{kind.lower()}s/{name}"

    @property
    def resource(self) -> Any:
        """As it is now."""
        return self._kubernetes.asked("GET", self.path)

    def is_asked(self, spec: dict[str, Any], **settings: object) -> None:
        """People create it."""
        body = {
            "apiVersion": "flink.apache.org/v1beta1",
            "kind": self.kind,
            "metadata": {"name": self.name},
            "spec": {"flinkConfiguration": settings, "job": {"jarURI": "local:///job.jar", "parallelism": 2, **spec}},
        }
        if self.kind == "FlinkSessionJob":
            body["spec"]["deploymentName"] = "session"  # type: ignore[index]
        self._kubernetes.asked("POST", self.path.rpartition("/")[0], body)

    def is_edited(self, job: dict[str, Any]) -> None:
        """Somebody changes the spec."""
        self._kubernetes.merge(self.path, {"spec": {"job": job}})

    def runs(self, job_id: str, state: str = "RUNNING", **job_status: object) -> None:
        """The newest spec is deployed, and its job is `state` under this id."""
        self._writes("STABLE", {"jobId": job_id, "state": state, **job_status})

    def suspends(self, job_id: str, savepoint: str | None = None) -> None:
        """The newest spec is carried out: the job has ended."""
        told = {"jobId": job_id, "state": "FINISHED"}
        self._writes("SUSPENDED", {**told, "upgradeSavepointPath": savepoint} if savepoint else told)

    def notes(self, state: str) -> None:
        """It looks at Flink again: only the status moves."""
        self._kubernetes.merge(f"{self.path}/status", {"status": {"jobStatus": {"state": state, "updateTime": "1"}}})

    def complains(self, message: str) -> None:
        """It could not carry out the newest spec."""
        self._kubernetes.merge(f"{self.path}/status", {"status": {"error": json.dumps({"message": message})}})

    def _writes(self, lifecycle: str, job_status: dict[str, Any]) -> None:
        seen = self.resource
        metadata = {"apiVersion": "flink.apache.org/v1beta1", "firstDeployment": False}
        reconciled = {
            "reconciliationTimestamp": 1,
            "state": "DEPLOYED",
            "lastReconciledSpec": json.dumps({"spec": seen["spec"], "resource_metadata": metadata}),
        }
        status = {
            "observedGeneration": seen["metadata"]["generation"],
            "lifecycleState": lifecycle,
            "jobStatus": {"jobName": "orders-to-iceberg", "startTime": "1795262400000", **job_status},
            "reconciliationStatus": reconciled,
        }
        self._kubernetes.merge(f"{self.path}/status", {"status": status})
