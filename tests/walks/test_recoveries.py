"""Each story on a real Flink cluster, walked through what the bot renders, proven from outside the bot.

The replay of V2 is walked in the page, too (`tests/browser`), whenever the slow tests run."""

import json
from pathlib import Path

import pytest

from bot.bootstrap import failure_modes
from bot.incident.diagnosis import Act
from tests.lab_fixtures import FreshLab
from tests.walks.world import incident

pytestmark = [pytest.mark.slow, pytest.mark.rotating]
WORTH_KNOWING = {code for code, module in failure_modes().items() if module.mode.act is Act.NOTE}


@pytest.mark.parametrize(
    ("story", "sink", "codes"),
    [
        pytest.param("restored-from-older-savepoint", "v2", ["F2"], marks=pytest.mark.long),
        pytest.param("restored-from-older-savepoint", "v1", ["F2", "F3"], marks=pytest.mark.long),
        ("rolled-back-while-running", "v2", ["F6"]),
    ],
)
def test_a_damaged_table_is_whole_after_the_walk(
    fresh_lab: FreshLab, tmp_path: Path, story: str, sink: str, codes: list[str]
) -> None:
    """Every source position exactly once, the job commits M+1, M+2, …, each consumer told once per notice."""
    lab = fresh_lab("v1" if sink == "v1" else "v2")
    lab.tell(story)
    with incident(lab, tmp_path) as world, world.bot():
        told = world.command("diagnose", "sales.orders", "--json")
        positions_before = world.positions()

        clicked = world.walk(story)

        assert codes == [each["code"] for each in json.loads(told.stdout)["act"]], told.stdout + told.stderr
        assert positions_before != list(range(1, len(positions_before) + 1)), "the story has to damage the table"
        assert "Propose" in clicked
        positions = world.positions()
        assert positions == list(range(1, len(positions) + 1))
        ids = world.checkpoints_of_the_last_run()
        [started] = world.journal("proposal-made")
        restored = started["proposal"]["preview"]["replayed_from"]  # type: ignore[index]
        assert ids == list(range(restored + 1, restored + 1 + len(ids)))
        assert len(ids) >= 3
        queued = [f"{e['notice']['kind']} {e['notice']['consumer']}" for e in world.journal("notice-queued")]  # type: ignore[index]
        assert sorted(queued) == sorted(
            f"{kind} {name}" for kind in ("warning", "recovered") for name in ("revenue_daily", "fraud_features")
        )
        for channel, person in (("revenue-analytics", "dana"), ("fraud-ml", "eli")):
            assert len(world.workspace.person(person).messages(channel)) == 2
        assert world.command("record", "verify").returncode == 0
        assert "" == world.unclear()


def test_a_killed_task_manager_leads_to_nothing_to_do(fresh_lab: FreshLab, tmp_path: Path) -> None:
    """Flink recovers by itself: the bot says so with its reasons and proposes nothing."""
    lab = fresh_lab("v2")
    lab.tell("task-manager-killed")
    with incident(lab, tmp_path) as world, world.bot():
        clicked = world.walk("task-manager-killed")

        assert "Propose" not in clicked
        assert world.journal("proposal-made") == []
        [diagnosed] = world.journal("diagnosed")[-1:]
        verdicts = {r["mode"]["code"]: r["examined"]["verdict"] for r in diagnosed["diagnosis"]["results"]}  # type: ignore[index]
        assert verdicts.pop("healthy") == "matches", diagnosed
        assert {code for code, verdict in verdicts.items() if verdict != "excluded"} <= WORTH_KNOWING
        assert "Nothing is wrong" in "\n".join(world.said)
        assert [e["status"] for e in world.journal("waterline-moved")] == ["under-review", "trusted"]
