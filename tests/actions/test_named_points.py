"""A restore point outside the configured folders is known where Flink names it."""

import shutil
from pathlib import Path

import pytest

from bot.actions import forward_job
from bot.domain.errors import CouldNotLook, Refused
from bot.domain.execution import ProposalState
from bot.domain.findings import PairVerdict
from bot.domain.flink import StoredCheckpoint
from bot.domain.pairing import pairings
from tests.actions.scene import Scene
from tests.little_flink import JOB
from tests.tables import job


@pytest.fixture
def elsewhere(scene: Scene, tmp_path: Path) -> Path:
    """Run a was stopped with a savepoint that somebody moved; run b was restored from it there, and only fails."""
    scene.flink.stop(JOB, job("a"))
    taken = next(scene.flink.savepoints.iterdir())
    moved = tmp_path / "backup" / taken.name
    moved.parent.mkdir()
    shutil.move(taken, moved)
    scene.flink.submit(job("b"), at_checkpoint=3, restored=moved)
    scene.flink.breaks(job("b"))
    return moved


def test_the_job_goes_on_from_a_savepoint_that_only_flink_names(scene: Scene, elsewhere: Path) -> None:
    """It pairs with the head, whichever folder it lies in."""
    plan = scene.plan()

    view = scene.carries_out(forward_job.propose(plan), plan)

    assert view.state is ProposalState.APPLIED
    assert scene.positions() == list(range(50))


def test_one_that_is_gone_is_not_listed(scene: Scene, elsewhere: Path) -> None:
    """Most checkpoints that Flink remembers are."""
    shutil.rmtree(elsewhere)

    assert scene.observer.observe("sales.orders").checkpoints.values == ()
    with pytest.raises(Refused, match="found none at all"):
        forward_job.propose(scene.plan())


def test_one_that_may_not_be_read_here_is_listed_as_unread(
    scene: Scene, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it pairs is not known, and that is said before anything is started from another."""
    read = scene.checkpoints.read

    def denied(path: str) -> StoredCheckpoint:
        if "backup" in path:
            raise CouldNotLook("It could not be read.", "Access denied.", "Ask.")
        return read(path)

    monkeypatch.setattr(scene.checkpoints, "read", denied)

    observed = scene.observer.observe("sales.orders")

    [stored] = observed.checkpoints.values
    assert (stored.path, stored.is_unread, stored.problem) == (
        str(elsewhere),
        True,
        "It could not be read. Access denied.",
    )
    [pair] = pairings([stored], observed.table, observed.jobs)
    assert pair.verdict is PairVerdict.UNREADABLE


def test_one_that_lies_in_a_configured_folder_is_read_once(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """However Flink spells its path."""
    savepoint = scene.flink.savepoint(job("a"))
    scene.flink.stop(JOB, job("a"))
    scene.flink.submit(job("b"), at_checkpoint=3, restored=Path(f"file:{savepoint}"))
    monkeypatch.setattr(scene.checkpoints, "read", lambda path: pytest.fail(f"read {path}"))

    paths = [each.path for each in scene.observer.observe("sales.orders").checkpoints.values]

    assert len(paths) == 1


@pytest.mark.parametrize("path", ["s3://elsewhere/savepoint-aaaaaa-1", "/tmp/savepoint-aaaaaa-1?endpoint_override=x"])
def test_what_lies_on_other_storage_is_not_asked_for(scene: Scene, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """Whoever may submit a job chooses what Flink names, and with it whom the bot would show its keys."""
    scene.flink.stop(JOB, job("a"))
    scene.flink.submit(job("b"), at_checkpoint=3, restored=Path(path))
    monkeypatch.setattr(scene.checkpoints, "read", lambda path: pytest.fail(f"read {path}"))

    assert len(scene.observer.observe("sales.orders").checkpoints.values) == 1


def test_the_same_point_under_another_mount_is_not_listed_twice(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flink's folder is mounted here: the savepoint's own name tells it."""
    savepoint = scene.flink.savepoint(job("a"))
    scene.flink.stop(JOB, job("a"))
    scene.flink.submit(job("b"), at_checkpoint=3, restored=Path("/mnt/state") / savepoint.name)
    monkeypatch.setattr(scene.checkpoints, "read", lambda path: pytest.fail(f"read {path}"))

    assert len(scene.observer.observe("sales.orders").checkpoints.values) == 1
