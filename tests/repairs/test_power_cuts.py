"""The bot is killed with SIGKILL at every journalled boundary of a repair, and started again."""

import subprocess
import sys
from pathlib import Path

import pytest

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql.store import open_store
from bot.domain.execution import ProposalState
from bot.service.incident_store import IncidentStore
from tests.repairs.rehearsed import PROPOSALS, Repaired, carry_out
from tests.repairs.taken_out import SPARK

pytestmark = pytest.mark.slow

ENTRIES = {"rehearse": 8, "deduplicate": 8, "publish": 6, "give-up": 6, "aside": 4, "replay": 8}
"""Appends of a whole execution: started, intent and end of each effect, ended."""
AROUND = {
    "rehearse": (4, 5, 6, 7),
    "deduplicate": (6, 7),
    "publish": (2, 3),
    "give-up": (4, 5),
    "aside": (2, 3),
    "replay": (6, 7),
}
"""The intents and ends of the effects that are not cut at in `tests/execution`."""
CUTS = [(name, sign * cut) for name, cuts in AROUND.items() for cut in cuts for sign in (1, -1)]
_OFTEN = 8
"""Each eighth cut is made by `make test`, all by `make test-long`: a cut costs two starts of the program."""


@pytest.fixture(autouse=True)
def spark_for_replays(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' one Spark, for the processes that are killed as well; started only where rows are replayed."""
    if request.getfixturevalue("name") == "replay":
        monkeypatch.setenv(SPARK, request.getfixturevalue("server").url)


@pytest.mark.parametrize(
    ("name", "cut_at"),
    [pytest.param(*cut, marks=[pytest.mark.long] if n % _OFTEN else []) for n, cut in enumerate(CUTS)],
)
def test_a_repair_that_was_killed_ends_right_and_nothing_is_done_twice(tmp_path: Path, name: str, cut_at: int) -> None:
    """Whatever the boundary: the effect is in the world exactly once, and the record is whole."""
    repaired = Repaired.made_in(tmp_path, name)

    killed = _bot(tmp_path, name, str(cut_at))
    carry_out(tmp_path, name, None)
    carry_out(tmp_path, name, None)

    assert killed.returncode == -9, killed.stderr
    assert repaired.found() == repaired.expected
    record = open_store(f"sqlite:///{tmp_path}/journal.db")
    view = IncidentStore(record.journal, SystemClock()).all()[0].proposals[PROPOSALS[name]]
    faults = record.journal.verify()
    record.close()
    repaired.close()
    assert view.state is ProposalState.APPLIED
    assert faults == ()


@pytest.mark.parametrize("name", list(ENTRIES))
def test_the_number_of_boundaries_is_what_the_cuts_cover(tmp_path: Path, name: str) -> None:
    """If an execution journals more than is cut at, the cuts above do not cover it any more."""
    repaired = Repaired.made_in(tmp_path, name)
    record = open_store(f"sqlite:///{tmp_path}/journal.db")
    store = IncidentStore(record.journal, SystemClock())
    seq = store.all()[0].seq

    carry_out(tmp_path, name, None)

    assert store.all()[0].seq - seq == ENTRIES[name]
    assert repaired.found() == repaired.expected
    record.close()
    repaired.close()


def _bot(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.repairs.rehearsed", str(folder), *arguments],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
