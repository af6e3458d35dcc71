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
        (folder / name).symlink_to(found)
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
    assert "chromium" in told.stdout.splitlines()[0]


def test_a_machine_that_has_everything_is_left_alone(tmp_path: Path) -> None:
    """Nothing is installed; at most it says that the tests on PostgreSQL are skipped."""
    told = _run(tmp_path, "java", "chromium")

    assert told.returncode == 0
    assert all("PostgreSQL will be skipped" in line for line in told.stdout.splitlines())
