"""What reads nothing is asked again before a diagnosis where the runs or the restore points are others by now, also
where no commit has come."""

from contextlib import nullcontext
from typing import Any, cast

import pytest

import spark_tasks
from bot.adapters.clock import SystemClock
from bot.domain.evidence import Answer, Ask, Observation, Task
from bot.domain.findings import PairingFinding
from bot.domain.flink import CheckpointKind, JobRun, StoredCheckpoint
from bot.domain.ids import CheckpointId
from bot.domain.looked import NotSeen, Seen
from bot.evidence import Collector, find_tasks
from bot.service.evidence_desk import EvidenceDesk
from tests.cases import Tale, job_id
from tests.diagnosis.one_incident import OneIncident
from tests.diagnosis.test_asked_for import WL_1

FOUND = find_tasks(spark_tasks)
SILENT = NotSeen(source="Flink", reason="Connection refused.", remedy="Wait.")


class Incident(OneIncident):
    """Whose first tasks are asked of a world that changes without a commit; what reads nothing answers in earnest."""

    def __init__(self, *first: str) -> None:
        super().__init__(Tale().flink_runs("a").commits("a", 1, 2, 3))
        world = self.tale.case().observation
        self.world: Observation = world.model_copy(
            update={"checkpoints": Seen[StoredCheckpoint](source="s3://lake/chk", values=(self.retained(3),))}
        )
        collector = Collector(FOUND, cast(Any, self), SystemClock())
        me = cast(Any, self)
        self.desk = EvidenceDesk(me, me, collector, lambda _work: nullcontext(True), first)

    def retained(self, checkpoint: int) -> StoredCheckpoint:
        """A checkpoint of run a that carries a commit."""
        return StoredCheckpoint(
            path=f"s3://lake/chk/{job_id('a')}/chk-{checkpoint}", kind=CheckpointKind.CHECKPOINT,
            checkpoint_id=CheckpointId(checkpoint), job_id=job_id("a"), written_at=self.tale.now,
            pending_manifests=(), digest="d" * 64,
        )  # fmt: skip

    def shows(self, **update: object) -> None:
        """The world from now on; `state` is that of its run."""
        if (state := update.pop("state", None)) is not None:
            jobs = cast(Seen[JobRun], self.tale.case().observation.jobs)
            update["jobs"] = Seen[JobRun](
                source=jobs.source, values=tuple(run.model_copy(update={"state": state}) for run in jobs.values)
            )
        self.world = self.world.model_copy(update=update)

    def asked(self) -> list[str]:
        """What a look before a diagnosis asks for."""
        before = len(self.runs)
        self.desk.look_first(WL_1)
        return [run.task for run in list(self.runs.values())[before:]]

    # ------------------------------------------------------------------ as the runner

    def run(self, task: Task, ask: Ask, **_: object) -> tuple[Answer, int]:
        return FOUND[task.name].answer(cast(Any, None), ask), 0

    # ------------------------------------------------------------------ as the observer

    def observe(self, *_: object, **__: object) -> Observation:
        return self.world


def lasting(incident: Incident) -> list[bool]:
    """Of each restore point, whether it stays by the newest evidence."""
    found = incident.get(WL_1).latest["checkpoint_pairing"].evidence.finding
    assert isinstance(found, PairingFinding)
    return [each.is_durable for each in found.pairings]


@pytest.mark.parametrize("before", [{"state": "RESTARTING"}, {"jobs": SILENT}], ids=["restarting", "not seen"])
def test_a_run_that_has_ended_since_is_looked_at_again(before: dict[str, object]) -> None:
    """It made no commit, and its restore points stay from now on; once asked, that holds."""
    incident = Incident("checkpoint_pairing", "forked_writers")
    incident.shows(**before)
    incident.asked()
    then = lasting(incident)

    incident.shows(state="FAILED")
    again = incident.asked()

    assert [False] == then
    assert ["checkpoint_pairing", "forked_writers"] == again
    assert [True] == lasting(incident)
    assert [] == incident.asked()


def test_so_is_a_restore_point_that_came_without_a_commit() -> None:
    """A savepoint of an idle job."""
    incident = Incident("checkpoint_pairing", "forked_writers")
    incident.asked()

    points = (incident.retained(3), incident.retained(4))
    incident.shows(checkpoints=Seen[StoredCheckpoint](source="s3://lake/chk", values=points))

    assert ["checkpoint_pairing"] == incident.asked()
    assert [] == incident.asked()


@pytest.mark.parametrize("unseen", ["jobs", "checkpoints"])
def test_what_cannot_be_seen_now_takes_no_answer_back(unseen: str) -> None:
    """An answer of a moment in which Flink or storage is silent would say less."""
    incident = Incident("checkpoint_pairing", "forked_writers")
    incident.asked()

    incident.shows(**{unseen: SILENT})

    assert [] == incident.asked()
