"""What `make install` says on a machine where nothing may be installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "deploy" / "require-system"


def _run(folder: Path, *programs: str) -> subprocess.CompletedProcess[str]:
    for name in ("sed", "head", "id", *programs):
        found = shutil.which(name)
        assert found is not None
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(found)
    (folder / "python3").unlink(missing_ok=True)
    (folder / "python3").symlink_to(Path(sys.base_prefix) / "bin" / "python3")
    bash = shutil.which("bash")
    assert bash is not None
    return subprocess.run(
        [bash, str(SCRIPT)], env={**os.environ, "PATH": str(folder)}, capture_output=True, text=True, check=False
    )


def test_what_is_missing_is_named_with_the_command_that_installs_it(tmp_path: Path) -> None:
    """Without Java, Chromium and a way to install them, it ends with 1 and says all of it."""
    told = _run(tmp_path)

    assert told.returncode == 1
    assert "openjdk-17-jre-headless" in told.stdout
    assert "sudo apt-get install" in told.stdout
    assert "chromium" in next(line for line in told.stdout.splitlines() if "are missing" in line)


def test_a_machine_that_has_everything_is_left_alone(tmp_path: Path) -> None:
    """Nothing is installed; at most it says which programs are wanted by tests, which are skipped without them."""
    told = _run(tmp_path, "java", "chromium")

    assert told.returncode == 0
    (line,) = told.stdout.splitlines()
    assert "will be skipped for want of" in line
    assert line.endswith("prometheus-alertmanager")


def test_what_only_tests_want_is_installed_and_is_no_service_afterwards(tmp_path: Path) -> None:
    """Debian starts Alertmanager on every address; asked again, with the program there, nothing is done."""
    for name in ("apt-get", "systemctl", "sudo"):
        told = tmp_path / name
        run = '[ "$1" = -n ] && shift; exec "$@"' if name == "sudo" else f'echo {name} "$@" >> {tmp_path}/done'
        told.write_text(f"#!/bin/sh\n{run}\n")
        told.chmod(0o755)
    programs = ("java", "chromium", "sh", "env", "true")

    first = _run(tmp_path, *programs)
    did = (tmp_path / "done").read_text()
    (tmp_path / "done").unlink()
    (tmp_path / "prometheus-alertmanager").symlink_to("/bin/true")
    again = _run(tmp_path)

    assert (first.returncode, again.returncode) == (0, 0)
    assert "prometheus-alertmanager" in next(line for line in did.splitlines() if " install " in line)
    assert did.splitlines()[-1] == "systemctl disable --now prometheus-alertmanager"
    assert "alertmanager" not in again.stdout
