"""The lab says which Java it needs before anything fails without one."""

from pathlib import Path

import pytest

from bot.pinned_jars import MachineError, java_in


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
