"""The bot is killed with SIGKILL at every journalled boundary of an execution, then started again."""

from pathlib import Path

import pytest

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql.store import open_store
from bot.incident.execution import ProposalState
from bot.service.incident_store import IncidentStore
from tests.little_flink import live_positions
from tests.power_cut import killed
from tests.rewound import PROPOSAL, WRONG_RUN, Damaged, carry_out

ENTRIES = 8
"""Appends of a whole execution: started, then intent and end of each of three effects, then ended."""


@pytest.mark.parametrize(
    "cut_at",
    [
        pytest.param(cut, marks=pytest.mark.full if cut % 4 else [])
        for cut in (*range(1, ENTRIES + 1), *range(-ENTRIES, 0))
    ],
)
def test_an_execution_that_was_killed_ends_right_and_nothing_is_done_twice(tmp_path: Path, cut_at: int) -> None:
    """Whatever the boundary: one stop, one move, one start, and every source position exactly once."""
    damaged = Damaged.made_in(tmp_path)
    record = open_store(f"sqlite:///{tmp_path}/journal.db")
    incident_id = damaged.approved(IncidentStore(record.journal, SystemClock()))
    record.close()
    before = len(damaged.flink.calls)

    assert killed(lambda: carry_out(tmp_path, cut_at))
    carry_out(tmp_path, None)
    carry_out(tmp_path, None)

    calls = damaged.flink.calls[before:]
    assert [call.split()[0] for call in calls] == ["stop", "start"]
    assert calls[0] == f"stop {WRONG_RUN}"
    assert live_positions(tmp_path) == list(range(70))
    record = open_store(f"sqlite:///{tmp_path}/journal.db")
    view = IncidentStore(record.journal, SystemClock()).get(incident_id).proposals[PROPOSAL]
    faults = record.journal.verify()
    record.close()
    assert view.state is ProposalState.APPLIED
    assert faults == ()


def test_the_number_of_boundaries_is_what_the_cuts_cover(tmp_path: Path) -> None:
    """If an execution journals more than is cut at, the cuts above do not cover it any more."""
    damaged = Damaged.made_in(tmp_path)
    record = open_store(f"sqlite:///{tmp_path}/journal.db")
    store = IncidentStore(record.journal, SystemClock())
    incident_id = damaged.approved(store)
    seq = store.get(incident_id).seq

    carry_out(tmp_path, None)

    assert store.get(incident_id).seq - seq == ENTRIES
    record.close()
