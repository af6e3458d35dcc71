"""The newer stories on a real cluster: the most telling ones; `make matrix` runs all of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.lab.lab import Lab
from bot.lab.world import World
from tests.lab_fixtures import FreshLab

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
HIGHEST = 2**63 - 1


def quiet(_: str) -> None:
    """Nobody listens."""


@pytest.fixture
def old_flink(tmp_path: Path) -> Iterator[Lab]:
    """A lab of its own with Flink 1.20."""
    with Lab(tmp_path / "lab", "v2", quiet, flink="1.20", consumers=()) as lab:
        lab.start()
        yield lab


def test_a_start_without_state_under_the_old_job_id_is_dropped_by_the_v2_sink(fresh_lab: FreshLab) -> None:
    """F4: checkpoints complete, the head does not move, and their Flink manifests stay behind."""
    lab = fresh_lab("v2")

    told = lab.tell("restarted-empty-same-job-id")

    job, good = str(told["run_a"]), int(told["good_checkpoint"])
    with World(lab.home, quiet) as world:
        first_of_the_start = min(world.await_checkpoints(job, 0, 1))
        leaked = world.hands.flink_manifests(job, first_of_the_start)
        chain = [link.checkpoint_id or 0 for link in world.commits_of(job)]
    assert first_of_the_start < good
    assert chain == sorted(chain)
    assert chain.count(first_of_the_start) == 1
    assert leaked


def test_a_drained_v1_sink_never_commits_again(fresh_lab: FreshLab) -> None:
    """F5: the highest id there is was committed, so every later checkpoint looks committed."""
    lab = fresh_lab("v1")

    told = lab.tell("restored-after-drain")

    proof = lab.proof()
    assert proof.chain[-1].checkpoint_id == HIGHEST == told["last_checkpoint"]
    assert str(told["run_b"]) not in {link.job_id for link in proof.chain}


def test_a_rollback_during_a_failover_leaves_the_job_in_a_loop(fresh_lab: FreshLab) -> None:
    """F7: the job asks for the Flink manifest of the commit that was rolled back, and does not get past it."""
    lab = fresh_lab("v2")

    told = lab.tell("rolled-back-then-failed-over")

    job = str(told["run_a"])
    with World(lab.home, quiet) as world:
        failure = next(each for each in world.flink.failures(job) if "NotFoundException" in each)
    assert f"/metadata/{job}-" in failure
    assert lab.proof().head == told["paired_snapshot"]


def test_a_fork_commits_between_the_commits_of_the_first(fresh_lab: FreshLab) -> None:
    """F13: two job ids alternate in one chain, and what both read is there twice."""
    lab = fresh_lab("v2")

    told = lab.tell("forked-from-a-savepoint")

    proof = lab.proof()
    writers = [link.job_id for link in proof.chain]
    first_of_fork = writers.index(str(told["run_b"]))
    assert str(told["run_a"]) in writers[first_of_fork:]
    assert proof.duplicates > 0


@pytest.mark.long
def test_the_lab_runs_flink_1_20_too(old_flink: Lab) -> None:
    """The same story has the same end with the older Flink."""
    told = old_flink.tell("restored-from-older-savepoint")

    proof = old_flink.proof()
    assert old_flink.state.flink_version == "1.20"
    assert proof.duplicates > 0
    assert next(link for link in proof.chain if link.job_id == told["run_b"]).parent_id == told["paired_snapshot"]
