"""A machine without anything of Waterline, which is installed on it as the pages say."""

import subprocess
from pathlib import Path

import pytest

from tests.adapters.kubernetes import is_asked_for
from tests.deploy.image import BUILD, PROJECT
from tests.docs.blocks import blocks, commands

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]


@pytest.mark.parametrize(("page", "venv"), [("README.md", ".venv"), ("deploy/README.md", "/opt/waterline/.venv")])
def test_the_lines_of_the_page_install_it(page: str, venv: str, tmp_path: Path) -> None:
    """In a folder of the test, from where pip finds packages; what is installed starts."""
    if not is_asked_for(BUILD):
        pytest.skip("it downloads half a gigabyte: `make test-deploy` does it, in some minutes")
    (typed,) = [lines for block in blocks("console", under=page) if (lines := commands(block))[0].endswith(venv)]
    here = [line.replace(venv, str(tmp_path / "venv")) for line in typed if line != "waterline tour"]

    subprocess.run(["bash", "-e", "-c", "\n".join(here)], cwd=PROJECT, check=True)
    told = subprocess.run(
        [tmp_path / "venv/bin/waterline", "tour", "--list"], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert len(typed) > 2
    assert "rows-twice" in told.stdout
