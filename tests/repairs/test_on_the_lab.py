"""Repairs on a real Flink cluster: rehearsed, published by a second approval, proven from outside the bot."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.cli.walk import Walk
from bot.workspace import SeenMessage
from tests.lab_fixtures import FreshLab
from tests.walks.world import Incident, incident

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
_TABLE = "INSERT INTO `lake`.`sales`.`orders`"


class RepairWalk(Walk):
    """People who approve the rehearsal, and then the publication that is offered by itself."""

    def __init__(self, world: Incident, runbook: str, say: Callable[[str], None]) -> None:
        super().__init__(world.workspace, runbook, say)
        self._world = world
        self.seen_while_rehearsed: list[int] = []

    def _propose(self, label: str, card: SeenMessage) -> None:
        super()._propose(label, card)
        self.seen_while_rehearsed = self._world.positions()
        self._wait_for("Approve", self._ben)
        self._ben.clicks("Approve")
        self._wait_for("Execute", self._ana)
        self._ana.clicks("Execute")
        deadline = time.monotonic() + 180
        while len(self._world.journal("verified")) < 2:
            assert time.monotonic() < deadline, self._world.journal("execution-ended")
            time.sleep(0.5)


@pytest.mark.parametrize(
    ("story", "runbook", "action", "deployed"),
    [
        ("committed-twice", "duplicate-rows", "drop_duplicated_commit", ""),
        (
            "restored-under-another-uid",
            "missing-rows",
            "recover_leaked_manifests",
            " /*+ OPTIONS('uid-suffix'='orders-sink-2') */",
        ),
    ],
)
def test_a_table_is_repaired_by_its_files_under_a_real_job(
    fresh_lab: FreshLab, tmp_path: Path, story: str, runbook: str, action: str, deployed: str
) -> None:
    """Every source position exactly once, and the job goes on by itself from the savepoint of its stop."""
    lab = fresh_lab("v2")
    lab.tell(story)
    with incident(lab, tmp_path) as world, _as_deployed(world, deployed), world.bot():
        broken = world.positions()
        walk = RepairWalk(world, runbook, world.said.append)

        walk.run()

        assert broken != list(range(1, len(broken) + 1)), "the story has to damage the table"
        made = [each["proposal"]["action"] for each in world.journal("proposal-made")]  # type: ignore[index]
        assert made == [action, "publish_repair"]
        assert [each["passed"] for each in world.journal("verified")] == [True, True]
        rehearsed = walk.seen_while_rehearsed
        assert sorted(rehearsed) != list(range(1, len(rehearsed) + 1)), "main is untouched while it is rehearsed"
        positions = world.positions()
        assert positions == list(range(1, len(positions) + 1))
        assert len(positions) > len(set(rehearsed))
        *moved, last = (each["status"] for each in world.journal("waterline-moved"))
        assert (set(moved), last) == ({"under-review"}, "trusted"), "it may go down when the fault is named, before"
        assert world.command("record", "verify").returncode == 0


@contextmanager
def _as_deployed(world: Incident, options: str) -> Iterator[None]:
    """The bot starts the job with the statement that is deployed by now: with the uid that the sink has got."""
    told = world.config.read_text()
    assert told.count(_TABLE) == 1
    world.config.write_text(told.replace(_TABLE, _TABLE + options))
    yield
