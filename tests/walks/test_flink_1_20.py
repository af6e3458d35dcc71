"""The bot stops and starts a real Flink 1.20 job: through the SQL gateway, and by a jar that was uploaded to it."""

import shutil
import subprocess
import zipfile
from pathlib import Path

import httpx
import pytest
from ruamel.yaml import YAML

from bot.lab.jars import Flink, flink_jars
from bot.lab.lab import Lab
from bot.lab.world import World
from tests.walks.world import Incident, incident

MAIN = "Statements"
_SOURCE = """
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

public class Statements {
    public static void main(String[] statements) {
        StreamTableEnvironment table =
            StreamTableEnvironment.create(StreamExecutionEnvironment.getExecutionEnvironment());
        for (String statement : statements) {
            table.executeSql(statement);
        }
    }
}
"""


def uploaded(flink_url: str, version: Flink, folder: Path) -> str:
    """The id of the jar on that cluster."""
    javac = shutil.which("javac")
    if javac is None:
        pytest.skip("there is no javac: apt-get install openjdk-17-jdk-headless")
    source = folder / f"{MAIN}.java"
    source.write_text(_SOURCE, encoding="utf-8")
    class_path = ":".join(str(jar) for jar in flink_jars(version))
    subprocess.run([javac, "--release", "17", "-cp", class_path, "-d", str(folder), str(source)], check=True)
    jar = folder / "statements.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\nMain-Class: {MAIN}\n\n")
        archive.write(folder / f"{MAIN}.class", f"{MAIN}.class")
    sent = {"jarfile": (jar.name, jar.read_bytes(), "application/x-java-archive")}
    answer = httpx.post(f"{flink_url}/jars/upload", files=sent, timeout=60, trust_env=False).raise_for_status()
    return str(answer.json()["filename"]).rpartition("/")[2]


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
