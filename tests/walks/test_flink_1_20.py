"""The bot stops and starts a real Flink 1.20 job: through the SQL gateway, and by a jar that was uploaded to it."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from bot.lab.lab import Lab
from bot.lab.world import World
from tests.walks.jar_of_statements import MAIN, uploaded
from tests.walks.world import Incident, incident

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]
ASKED = "/waterline propose restart_from_stop_savepoint"


def test_a_job_is_restarted_by_the_gateway_and_by_a_jar(tmp_path: Path) -> None:
    """Each time it is stopped with a savepoint, goes on from it, and no source position is lost or doubled."""
    with Lab(tmp_path / "lab", "v2", flink="1.20", consumers=()) as lab:
        lab.start()
        with World(lab.home, print) as hands:
            hands.await_commits(hands.running_job(), 3)
        with incident(lab, tmp_path) as world:
            with world.bot():
                world.opens("planned-savepoint")
                world.asks_for(ASKED)
                world.carries_out(1)
            starts_by_jar(world, uploaded(lab.state.flink_url, "1.20", tmp_path))
            with world.bot():
                world.reads_the_ledger()
                world.asks_for(ASKED)
                world.carries_out(2)

            stops = [e["result"] for e in world.journal("effect-ended") if "savepoint" in str(e["result"])]
            assert [e["outcome"] for e in world.journal("execution-ended")] == ["applied", "applied"]
            assert [e["passed"] for e in world.journal("verified")] == [True, True]
            assert len(stops) == 2
            positions = world.positions()
            assert positions == list(range(1, len(positions) + 1))


def starts_by_jar(world: Incident, jar_id: str) -> None:
    """From now on the job is started by that jar, which is given the job's statements as its arguments."""
    yaml = YAML()
    told = yaml.load(world.config.read_text(encoding="utf-8"))
    [job] = told["jobs"].values()
    job["start"] = {
        "kind": "jar",
        "jar_id": jar_id,
        "entry_class": MAIN,
        "args": job["start"]["statements"],
        "properties": job["start"]["properties"],
    }
    with world.config.open("w", encoding="utf-8") as file:
        yaml.dump(told, file)
