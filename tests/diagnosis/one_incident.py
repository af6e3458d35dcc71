"""One open incident over a tale, as the evidence desk knows it: its store, and the settings of its table."""

from types import SimpleNamespace
from typing import Any

from bot.domain.entries import EvidenceRecorded, EvidenceRequested
from bot.domain.ids import EvidenceId
from bot.domain.incident import EvidenceRun
from tests.cases import NOON, Tale


def run_of(task: str, run: EvidenceId, **outcome: Any) -> EvidenceRun:
    """As the incident keeps it."""
    return EvidenceRun(run=run, task=task, step=None, requested_at=NOON, by="ana", **outcome)


class OneIncident:
    """What was asked, and what came of it, stays in memory."""

    def __init__(self, tale: Tale) -> None:
        self.tale = tale
        self.runs: dict[EvidenceId, Any] = {}

    def setup(self, _table: object) -> SimpleNamespace:
        return SimpleNamespace(contract=self.tale.case().contract, replay=None, copies={})

    def get(self, _incident: object) -> SimpleNamespace:
        latest = {each.task: each for each in self.runs.values() if each.evidence is not None}
        opened = SimpleNamespace(table="sales.orders", job=None)
        told = {"window": self.tale.case().window, "trusted": None, "opened": opened}
        return SimpleNamespace(is_open=True, runs=dict(self.runs), latest=latest, **told)

    def write(self, incident: object, *, decide: Any, **_: object) -> SimpleNamespace:
        for body in decide(self.get(incident)):
            match body:
                case EvidenceRequested():
                    self.runs[body.run] = run_of(body.task, body.run)
                case EvidenceRecorded():
                    self.runs[body.run] = run_of(body.evidence.task, body.run, evidence=body.evidence)
        return self.get(incident)
