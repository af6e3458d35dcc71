"""The stack `kafka` on real parts: a broker, S3 and a REST catalog, with Flink's source at parallelism 2."""

from collections.abc import Iterator

import psutil
import pytest

from bot.lab.lab import Lab

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One with a running job."""
    with Lab(tmp_path_factory.mktemp("lab"), say=lambda _: None, consumers=(), stack="kafka") as lab:
        lab.start()
        yield lab


def test_each_offset_of_each_partition_is_there_once_after_a_planned_restart(lab: Lab) -> None:
    """Counted by PyIceberg through the REST catalog and S3, and by a reader of the topic."""
    told = lab.tell("planned-restart")

    proof = lab.proof()
    assert {link.job_id for link in proof.chain} == {told["run_a"], told["run_b"]}
    assert [each.partition for each in proof.partitions] == [0, 1, 2]
    assert all(each.rows > 0 for each in proof.partitions)
    assert proof.is_exactly_once


def test_the_stack_listens_on_loopback_only_and_stays_below_its_memory(lab: Lab) -> None:
    """A demo opens no door to the network, and fits beside a browser."""
    me = psutil.Process()
    mine = [each for each in me.children(recursive=True) if each.is_running()]

    heard = {
        each.laddr.ip
        for process in mine
        for each in process.net_connections("tcp")
        if each.status == psutil.CONN_LISTEN
    }

    assert {ip.removeprefix("::ffff:") for ip in heard} == {"127.0.0.1"}
    own = [psutil.Process(pid) for pid in lab.state.pids.values() if psutil.pid_exists(pid)]
    assert 2**30 < sum(process.memory_info().rss for process in own) < 4.5 * 2**30
