"""Good histories in which a mode accused once, each reduced to what it takes."""

import pytest

from tests.diagnosis.histories.drawn import Event, Plan, played
from tests.diagnosis.histories.held import false_alarms
from tests.diagnosis.histories.history import Setting
from tests.diagnosis.histories.truth import truth_of

REDEPLOYED = "redeployed under its job id"
FOUND = {
    "what a savepoint wrote, before a restart that a second one hides": Plan(
        20091,
        Setting(shows_points=True),
        (
            Event(1, "an intermediate savepoint"),
            Event(2, REDEPLOYED),
            Event(3, "a checkpoint"),
            Event(5, "a checkpoint"),
            Event(6, "an expiry of snapshots"),
            Event(7, REDEPLOYED),
        ),
    ),
    "the same, hidden by a JobManager that took over": Plan(
        23375,
        Setting(interval_s=60, shows_points=True),
        (
            Event(0, "an intermediate savepoint"),
            Event(3, REDEPLOYED),
            Event(4, "a quiet time"),
            Event(5, "a standby JobManager takes over"),
        ),
        opens_at=0.8203430948305879,
    ),
    "a failover to the point that a rewind began from, before the first commit": Plan(
        22596,
        Setting("V1", shows_paths=False),
        (Event(7, "table and job rewound together"), Event(8, "a failover")),
        meanwhile=(Event(100, "a checkpoint"),),
    ),
}


@pytest.mark.parametrize("plan", FOUND.values(), ids=FOUND)
def test_nobody_is_accused(plan: Plan) -> None:
    """Every row lives once."""
    drawn = played(plan)

    assert not truth_of(drawn.history).is_wrong
    assert () == false_alarms(drawn)
