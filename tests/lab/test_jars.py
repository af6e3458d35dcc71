"""The jars are pinned, and nothing else is run."""

import hashlib
from pathlib import Path
from typing import get_args

import pytest

from bot.lab.jars import PINS, Needed
from bot.pinned_jars import SPARK_PINS, Jar, MachineError, OfSpark, java_in, parse_pins, verify

CONTENT = b"not really a jar"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def pins(folder: Path, line: str) -> Path:
    """A list of one line."""
    (folder / "jars.txt").write_text(f"# heading\n{line}\n", encoding="utf-8")
    return folder / "jars.txt"


def test_a_pin_says_who_needs_it_its_coordinates_and_its_checksum(tmp_path: Path) -> None:
    """A line of the list holds everything that is needed to fetch and to verify."""
    file = pins(tmp_path, f"flink org.apache.flink:flink-shaded-asm-9:9.6-20.0 {SHA256}")

    (jar,) = parse_pins(file, ["flink"])

    assert jar.file_name == "flink-shaded-asm-9-9.6-20.0.jar"
    assert (jar.needed_by, jar.group, jar.sha256) == ("flink", "org.apache.flink", SHA256)


@pytest.mark.parametrize(
    "line",
    [
        "flink org.apache.flink:flink-core:2.1.1",
        f"flink org.apache.flink:flink-core {SHA256}",
        f"hive org.apache.flink:flink-core:2.1.1 {SHA256}",
        "flink org.apache.flink:flink-core:2.1.1 abc",
    ],
)
def test_a_line_that_does_not_pin_is_refused_with_its_number(line: str, tmp_path: Path) -> None:
    """Nobody fetches a jar without a checksum by a slip of the pen."""
    file = pins(tmp_path, line)

    with pytest.raises(MachineError) as refused:
        parse_pins(file, ["flink"])

    assert "line 2" in refused.value.found


def test_a_file_that_is_pinned_again_is_the_same_file() -> None:
    """Two of one name could not lie in one cache."""
    lists = ((PINS, Needed), (SPARK_PINS, OfSpark))
    jars = [jar for pins, needed in lists for jar in parse_pins(pins, get_args(needed))]

    pinned = {(jar.file_name, jar.sha256) for jar in jars}

    assert len(pinned) == len({jar.file_name for jar in jars})
    assert "iceberg-spark-runtime-4.1_2.13-1.12.0.jar" in {jar.file_name for jar in jars}


@pytest.mark.parametrize("version", ["2.1", "1.20"])
def test_each_flink_has_one_runtime_of_its_own_and_none_of_the_other(version: str) -> None:
    """Two Flinks on one class path would be neither."""
    jars = parse_pins(PINS, get_args(Needed))

    runtimes = [jar for jar in jars if jar.artifact in ("flink-runtime", f"iceberg-flink-runtime-{version}")]

    mine = [jar for jar in runtimes if jar.needed_by in ("flink", f"flink-{version}")]
    assert sorted(jar.artifact for jar in mine) == ["flink-runtime", f"iceberg-flink-runtime-{version}"]
    assert next(jar.version for jar in mine if jar.artifact == "flink-runtime").startswith(version)


def test_a_jar_with_another_checksum_is_refused(tmp_path: Path) -> None:
    """What was tampered with, or cut short, is not run."""
    pin = Jar(needed_by="flink", group="g", artifact="a", version="1", sha256=SHA256)
    whole, cut = tmp_path / "whole.jar", tmp_path / "cut.jar"
    whole.write_bytes(CONTENT)
    cut.write_bytes(CONTENT[:-1])

    verify(pin, whole)
    with pytest.raises(MachineError) as refused:
        verify(pin, cut)

    assert SHA256 in refused.value.found
    assert str(cut) in refused.value.next_step


def installed(folder: Path, version: str) -> Path:
    """A java program that says this version, as the real one does: on standard error."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n", encoding="utf-8")
    program.chmod(0o755)
    return program


def test_a_machine_without_java_is_told_what_to_install(tmp_path: Path) -> None:
    """A missing Java is an instruction, not a stack trace."""
    nowhere = str(tmp_path)

    with pytest.raises(MachineError) as refused:
        java_in(java_home=None, search_path=nowhere)

    assert "there is none" in refused.value.happened
    assert "Install Java 17" in refused.value.next_step


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.22", "25"])
def test_a_java_that_cannot_run_flink_and_spark_is_refused(tmp_path: Path, version: str) -> None:
    """Only versions that both engines run on are accepted."""
    program = installed(tmp_path, version)

    with pytest.raises(MachineError) as refused:
        java_in(java_home=str(tmp_path), search_path=None)

    assert str(program) in refused.value.found


@pytest.mark.parametrize("version", ["17.0.15", "21"])
def test_java_home_goes_before_the_search_path(tmp_path: Path, version: str) -> None:
    """Whoever sets JAVA_HOME means it."""
    chosen = installed(tmp_path / "home", version)
    installed(tmp_path / "other", "11.0.22")

    found = java_in(java_home=str(tmp_path / "home"), search_path=str(tmp_path / "other" / "bin"))

    assert found == chosen
