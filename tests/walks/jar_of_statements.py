"""A jar whose main runs the SQL statements that it is given: compiled against the lab's Flink, and uploaded to it."""

import shutil
import subprocess
import zipfile
from pathlib import Path

import httpx
import pytest

from bot.lab.jars import Flink, flink_jars

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
