"""The lab on a real cluster: what the stories leave behind, and what holds without them."""

import secrets

import psutil
import pytest

from bot.lab.errors import LabError
from bot.lab.world import World
from tests.lab_fixtures import FreshLab

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def quiet(_: str) -> None:
    """Nobody listens."""


def test_a_planned_restart_is_exactly_once(fresh_lab: FreshLab) -> None:
    """The source goes back to where the savepoint left it: no position is missing, none is there twice."""
    lab = fresh_lab("v2")
    with World(lab.home, quiet) as world:
        first = world.running_job()
        world.await_commits(first, 2)
        savepoint = world.stop(first)

        second = world.start_job(from_path=savepoint.path)
        commits = world.await_commits(second, 2)

    proof = lab.proof()
    assert commits[0].checkpoint_id == savepoint.checkpoint_id + 1
    assert commits[0].parent_id == next(link for link in reversed(proof.chain) if link.job_id == first).snapshot_id
    assert proof.is_exactly_once


def test_a_start_without_a_savepoint_begins_with_the_first_position(fresh_lab: FreshLab) -> None:
    """The position lives in the job's state and nowhere else, and a replayed row is the same row."""
    lab = fresh_lab("v2")
    with World(lab.home, quiet) as world:
        first = world.running_job()
        world.await_commits(first, 2)
        world.stop(first)
        second = world.start_job()
        world.await_commits(second, 2)

        rows = world.table.scan().to_arrow().to_pylist()

    first_rows = [row for row in rows if row["source_position"] == 1]
    assert len(first_rows) == 2
    assert first_rows[0] == first_rows[1]


def test_a_pinned_job_id_is_used_once(fresh_lab: FreshLab) -> None:
    """Submitting the same start twice is refused, while the job runs and after it was cancelled."""
    lab = fresh_lab("v2")
    job_id = secrets.token_hex(16)
    with World(lab.home, quiet) as world:
        savepoint = world.stop(world.running_job())

        started = world.start_job(savepoint.path, job_id)
        with pytest.raises(LabError, match="DuplicateJobSubmissionException"):
            world.start_job(savepoint.path, job_id)
        world.flink.cancel(job_id)
        with pytest.raises(LabError, match="DuplicateJobSubmissionException"):
            world.start_job(savepoint.path, job_id)

        assert started == job_id
        assert world.flink.running() == []


def test_restored_from_an_older_savepoint_the_v2_sink_shows_duplicates(fresh_lab: FreshLab) -> None:
    """The replay is committed at once; the good savepoint still pairs with its snapshot."""
    lab = fresh_lab("v2")

    told = lab.tell("restored-from-older-savepoint")

    proof = lab.proof()
    by_id = {link.snapshot_id: link for link in proof.chain}
    paired = by_id[int(told["paired_snapshot"])]
    wrong = by_id[int(told["first_wrong_snapshot"])]
    assert proof.duplicates > 0
    assert proof.missing == ()
    assert (paired.job_id, paired.checkpoint_id) == (told["run_a"], told["good_checkpoint"])
    assert (wrong.job_id, wrong.parent_id) == (told["run_b"], paired.snapshot_id)
    assert wrong.checkpoint_id == int(told["older_checkpoint"]) + 1


def test_one_consumer_read_above_the_trusted_snapshot_and_one_did_not(fresh_lab: FreshLab) -> None:
    """revenue_daily has read duplicates; fraud_features has not run since before the fault."""
    lab = fresh_lab("v2", consumers=("revenue_daily", "fraud_features"))

    told = lab.tell("restored-from-older-savepoint")

    chain = [link.snapshot_id for link in lab.proof().chain]
    trusted = chain.index(int(told["paired_snapshot"]))
    with World(lab.home, quiet) as world:
        reads = {name: read.snapshot_id for name, read in world.reads().items()}
    assert chain.index(reads["fraud_features"]) < trusted < chain.index(reads["revenue_daily"])


def test_restored_from_an_older_savepoint_the_v1_sink_is_silent_first(fresh_lab: FreshLab) -> None:
    """Nothing is committed at first; then all comes late under a higher checkpoint id."""
    lab = fresh_lab("v1")

    told = lab.tell("restored-from-older-savepoint")
    found = lab.proof()
    late = next(link for link in found.chain if link.job_id == told["run_b"])

    assert (late.parent_id, late.snapshot_id) == (told["paired_snapshot"], told["first_wrong_snapshot"])
    assert (late.checkpoint_id or 0) > int(told["good_checkpoint"])
    assert found.duplicates > 0


def test_the_lab_listens_on_loopback_only_and_stays_small(fresh_lab: FreshLab) -> None:
    """A demo opens no door to the network and fits into 3 GiB."""
    lab = fresh_lab("v2")

    running = [psutil.Process(pid) for pid in lab.state.pids.values() if psutil.pid_exists(pid)]
    heard = {
        each.laddr.ip
        for process in running
        for each in process.net_connections("tcp")
        if each.status == psutil.CONN_LISTEN
    }

    assert heard
    assert {ip.removeprefix("::ffff:") for ip in heard} == {"127.0.0.1"}
    assert sum(process.memory_info().rss for process in running) < 3 * 2**30
