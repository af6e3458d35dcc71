"""The watch over a real job: faults are found within a minute, and healthy running is left alone."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.lab_fixtures import FreshLab
from tests.watch.on_the_lab import FAULTS, healthy, time_to_finding

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


@pytest.mark.parametrize("story", sorted(FAULTS))
def test_a_fault_is_found_by_itself(fresh_lab: FreshLab, tmp_path: Path, story: str) -> None:
    """With a look each ten seconds: one urgent finding first, and soon."""
    lab = fresh_lab("v2")

    took, found = time_to_finding(lab, tmp_path, story, timedelta(minutes=2))

    assert took is not None
    assert took < 60
    assert found[0].finding.is_urgent


def test_restarts_and_compactions_are_told_to_nobody(fresh_lab: FreshLab, tmp_path: Path) -> None:
    """A killed TaskManager, a compaction and a planned restart, each of which the job survives."""
    lab = fresh_lab("v2")

    assert healthy(lab, tmp_path, timedelta(minutes=2), lambda _said: None) == []
