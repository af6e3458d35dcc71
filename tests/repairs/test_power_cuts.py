"""The bot is killed with SIGKILL at every journalled boundary of a repair, and started again."""

from multiprocessing import get_context
from pathlib import Path
from signal import SIGKILL

import pytest

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql.store import open_store
from bot.domain.execution import ProposalState
from bot.service.incident_store import IncidentStore
from tests.power_cut import killed
from tests.repairs.rehearsed import PROPOSALS, Repaired, carry_out
from tests.repairs.taken_out import SPARK

pytestmark = [pytest.mark.slow, pytest.mark.rotating]

ENTRIES = {"rehearse": 8, "deduplicate": 8, "publish": 6, "give-up": 6, "replay": 8}
"""Appends of a whole execution: started, intent and end of each effect, ended."""
AROUND = {
    "rehearse": (4, 5, 6, 7),
    "deduplicate": (6, 7),
    "publish": (2, 3),
    "give-up": (4, 5),
    "replay": (6, 7),
}
"""The intents and ends of the effects that are not cut at in `tests/execution`."""
CUTS = [(name, sign * cut) for name, cuts in AROUND.items() for cut in cuts for sign in (1, -1)]


@pytest.fixture(autouse=True)
def spark_for_replays(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' one Spark, for the processes that are killed as well; started only where rows are replayed."""
    if request.getfixturevalue("name") == "replay":
        monkeypatch.setenv(SPARK, request.getfixturevalue("server").url)


@pytest.mark.parametrize(("name", "cut_at"), CUTS)
def test_a_repair_that_was_killed_ends_right_and_nothing_is_done_twice(tmp_path: Path, name: str, cut_at: int) -> None:
    """Whatever the boundary: the effect is in the world exactly once, and the record is whole."""
    repaired = Repaired.made_in(tmp_path, name)

    assert _is_killed(tmp_path, name, cut_at)
    carry_out(tmp_path, name, None)
    carry_out(tmp_path, name, None)

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


def _is_killed(folder: Path, name: str, cut_at: int) -> bool:
    """By SIGKILL. A process that is connected to Spark is not to be forked: gRPC's threads are not in the child."""
    if name != "replay":
        return killed(lambda: carry_out(folder, name, cut_at))
    process = get_context("spawn").Process(target=carry_out, args=(folder, name, cut_at))
    process.start()
    process.join(180)
    return process.exitcode == -SIGKILL
