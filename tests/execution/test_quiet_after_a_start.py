"""Checkpoints without files are not committed: on a quiet table a recovery is proven all the same."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.actions._effects import checks
from bot.adapters.journal_sql import Store
from bot.observation.flink import CheckpointKind, CompletedCheckpoint
from bot.observation.ids import CheckpointId
from bot.service.proposals.verifying import Verifier
from tests.execution.away import notes
from tests.execution.scene import Scene
from tests.rewound import PROPOSAL


class Quiet(Scene):
    """The rewind to checkpoint 5 is carried out; what the run commits then is up to the test."""

    def carries_out(self) -> None:
        self.commits, self.damaged.flink.checkpoints = self.damaged.flink.checkpoints, self.nothing  # type: ignore[method-assign]
        self.begins()
        self.carries_on()
        self.after = timedelta()

    def nothing(self, *_asked: Any) -> None:
        """Checkpoints without files."""

    def now(self) -> datetime:
        """The clock of the verification."""
        return datetime.now(UTC) + self.after

    def brings(self, checkpoint: int) -> None:
        """The next commit is of this checkpoint."""
        flink = self.damaged.flink
        runs = flink._read()
        [run] = [each for each, told in runs.items() if told["state"] == "RUNNING"]
        runs[run]["checkpoint"] = checkpoint - 1
        flink._write(runs)
        self.commits(run, 1)

    def lists(self, **told: str) -> None:
        """What Flink's history says of checkpoints: `_6="FAILED"`."""
        flink = self.damaged.flink
        run, values = flink.run, tuple(listed(int(key[1:]), status) for key, status in told.items())
        flink.run = lambda job_id: _with(run(job_id), checkpoints=values)  # type: ignore[method-assign]

    @property
    def first_commit(self) -> Any:
        """What is said of it."""
        [found] = [
            c for c in checks(self.verifier._observer.clients, self.view) if c.name.startswith("The first commit")
        ]
        return found

    @property
    def verifier(self) -> Verifier:
        """Without evidence: nothing is asked of it here."""
        observer = self.damaged.executions(self.store)[0]._observer
        return Verifier(self.store, observer, None, {}, self, pause=lambda _s: None)  # type: ignore[arg-type]


def _with(run: Any, **values: Any) -> Any:
    return run.model_copy(update=values)


def listed(checkpoint: int, status: str) -> CompletedCheckpoint:
    return CompletedCheckpoint(
        checkpoint_id=CheckpointId(checkpoint), kind=CheckpointKind.CHECKPOINT, status=status,
        triggered_at=datetime.now(UTC),
    )  # fmt: skip


@pytest.fixture
def scene(record: Store, tmp_path: Path) -> Quiet:
    """Carried out, and nothing committed yet."""
    made = Quiet(tmp_path, record)
    made.carries_out()
    return made


def test_ids_of_checkpoints_without_files_and_of_failed_ones_may_be_left_out(scene: Quiet) -> None:
    """What Flink tells of them is said; of what it tells no more, that."""
    scene.brings(9)
    unknown = scene.first_commit
    scene.lists(_6="COMPLETED", _7="FAILED")
    known = scene.first_commit

    assert unknown.passed
    assert "of checkpoints 6 to 8: 3 no longer listed by Flink" in unknown.sentence
    assert known.passed
    assert "1 completed, with no files to commit; 1 failed; 1 no longer listed" in known.sentence


def test_more_silence_than_the_sink_keeps_is_no_proof(scene: Quiet) -> None:
    """Its commits are dropped, not left out."""
    scene.brings(18)
    scene.lists(**{f"_{each}": "COMPLETED" for each in range(6, 18)})

    assert scene.first_commit.passed is False
    assert "at most 10 in a row may be without files" in scene.first_commit.sentence


def test_an_older_checkpoint_is_no_proof(scene: Quiet) -> None:
    """It was restored from somewhere else."""
    scene.brings(5)

    assert scene.first_commit.passed is False


def test_a_run_that_has_not_committed_is_looked_at_again_until_it_must_have(scene: Quiet) -> None:
    """Not proven is said when the sink can be silent no longer; until then people know how long it takes."""
    run = scene.damaged.flink.run
    ten_minutes = {"checkpoint_interval_ms": 600_000}
    scene.damaged.flink.run = lambda job_id: _with(run(job_id), **ten_minutes)  # type: ignore[method-assign]
    verifier = scene.verifier

    scene.after = timedelta(minutes=3)
    first = verifier.verify(scene.incident, PROPOSAL)
    scene.after = timedelta(hours=3)
    second = verifier.verify(scene.incident, PROPOSAL)
    [noted] = notes(scene)
    incident = scene.store.get(scene.incident)
    lacking = verifier._wait(incident, scene.view)
    assert lacking is not None
    until = verifier._until(incident, scene.view, lacking)

    assert (first, second, scene.view.verified) == (None, None, None)
    assert "is not verified yet: Run" in noted
    assert "has not committed yet. Waterline verifies it as soon as possible, at" in noted
    assert timedelta(hours=3) < until - datetime.now(UTC) < timedelta(hours=4)
