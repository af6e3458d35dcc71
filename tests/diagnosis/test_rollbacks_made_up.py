"""Made-up histories of a job, a guest and one rollback, held against what became of the rows that main lost."""

from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, assume, event, example, given, settings
from hypothesis import strategies as st

from bot.diagnosis import rolled_back_while_running
from bot.domain.diagnosis import Excluded, Matches
from bot.domain.ids import SnapshotId
from bot.history.suspicion import propose_window
from tests.cases import OPERATOR, Tale
from tests.history.test_rolled_back import GUEST, NEW_UID
from tests.made_up import EXAMPLES

pytestmark = pytest.mark.made_up

SINKS = {"its own": GUEST, "the job's": OPERATOR, "none": None}
IDS = [tuple(range(1, 8)), (1, 2, 3, 13, 14, 15, 16)]
"""Of the job's first run; main is rolled back to 3."""


class Plan(NamedTuple):
    """One history. The guest's ids rise, but where it repeats what it lost."""

    ids: tuple[int, ...]
    is_stopped: bool
    """Whether the job is stopped before main is rolled back."""
    began: int | None
    """From the how manieth of its ids run b is restored; None: run a goes on."""
    changes_uid: bool
    skips: int
    """Checkpoints without rows before the first commit above the target."""
    commits: int
    is_redeployed: bool
    """Whether run c goes on from where run b stood."""
    guest: str
    lost: int | None
    """The id of a guest's commit that main lost, which the guest repeats."""
    slot: str
    """When the guest commits once more."""
    number: int


class History:
    """The tale of a plan, and where each of the job's commits ends in the source: each brings one position."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.tale = plan, Tale().flink_runs("a")
        self.position = 0
        self.holds: dict[SnapshotId, int] = {}
        self.points: dict[int, int] = {}
        self.run, self.checkpoint, self.sink = "a", 0, OPERATOR
        for checkpoint in plan.ids:
            self._commits(checkpoint)
        if plan.lost is not None:
            self._guest(plan.lost)
        if plan.is_stopped:
            self.tale.becomes("a", "FINISHED")
        self.lost = {self.points[each] for each in plan.ids if each > 3}
        self.tale.rolls_back_to("a", 3)
        self.target = self.tale.head
        self._goes_on()

    @property
    def is_hole(self) -> bool:
        """Whether rows are lost that the living run has passed."""
        live = {self.holds[s.snapshot_id] for s in self.tale.table.chain if s.snapshot_id in self.holds}
        return any(each <= self.position for each in self.lost - live)

    def _goes_on(self) -> None:
        plan = self.plan
        if plan.lost is not None:
            self._guest(plan.lost)
        self._meets_guest("first")
        if plan.began is not None:
            self._becomes("b", plan.ids[plan.began])
        self._meets_guest("then")
        self.checkpoint += plan.skips
        for _ in range(plan.commits):
            self._commits(self.checkpoint + 1)
        if plan.is_redeployed:
            self._becomes("c", self.checkpoint)
        self._meets_guest("last")

    def _becomes(self, run: str, checkpoint: int) -> None:
        self.tale.becomes(self.run, "FINISHED").flink_runs(run, restored=checkpoint)
        self.position = self.points.get(checkpoint, self.position)
        self.run, self.checkpoint = run, checkpoint
        self.sink = NEW_UID if self.plan.changes_uid else OPERATOR

    def _commits(self, checkpoint: int) -> None:
        self.tale.commits(self.run, checkpoint).by_sink(self.sink)
        assert self.tale.head is not None
        self.position += 1
        self.checkpoint, self.points[checkpoint], self.holds[self.tale.head] = checkpoint, self.position, self.position

    def _meets_guest(self, slot: str) -> None:
        if self.plan.slot == slot:
            self._guest(max(self.plan.number, (self.plan.lost or 0) + 1))

    def _guest(self, checkpoint: int) -> None:
        self.tale.commits("z", checkpoint)
        newest, sink = self.tale.snapshots[-1], SINKS[self.plan.guest]
        told = {key: value for key, value in newest.summary.items() if key != "flink.operator-id"}
        told |= {"flink.operator-id": sink} if sink is not None else {}
        self.tale.snapshots[-1] = newest.model_copy(update={"summary": told})


PLANS = st.builds(
    Plan,
    ids=st.sampled_from(IDS),
    is_stopped=st.booleans(),
    began=st.sampled_from([None, 1, 2, 4, 6]),
    changes_uid=st.booleans(),
    skips=st.sampled_from([0, 1]),
    commits=st.sampled_from([0, 1, 3]),
    is_redeployed=st.booleans(),
    guest=st.sampled_from(sorted(SINKS)),
    lost=st.sampled_from([None, 2, 5, 9, 20]),
    slot=st.sampled_from(["never", "first", "then", "last"]),
    number=st.sampled_from([2, 4, 5, 13, 20]),
)


@settings(max_examples=EXAMPLES // 4, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(PLANS, st.sampled_from(["all", "the last", "none"]))
@example(Plan(IDS[0], False, 4, False, 0, 1, False, "none", None, "last", 2), "none")  # ids of another job
@example(Plan(IDS[0], False, 4, True, 0, 1, False, "none", None, "last", 2), "none")  # the same, under another uid
@example(Plan((1, 2, 3, 13, 14, 15, 16), False, None, False, 0, 0, False, "none", None, "first", 5), "none")
def test_no_hole_is_hidden_and_no_right_rollback_is_one(plan: Plan, knows: str) -> None:
    """Before anybody has looked for positions. A guest under the job's own uid is told only by when the job's runs
    lived, so Flink has to list them; a job that is down is left out, as nobody knows what it will read."""
    assume(plan.began is not None or not (plan.is_stopped or plan.is_redeployed))
    assume(plan.commits or not plan.is_redeployed)
    assume(plan.guest != "the job's" or knows == "all")
    history = History(plan)
    tale = history.tale
    for run in [each for each in tale.runs if knows == "the last" and each != history.run]:
        tale.forgets(run)
    tale = tale.flink_is_down() if knows == "none" else tale

    found, trusted = rolled_back_while_running.examine(tale.case()), propose_window(tale.table, tale.jobs).trusted

    event("a hole" if history.is_hole else "right")
    if history.is_hole:
        assert not isinstance(found, Excluded)
        assert tale.table.place_of(trusted) <= tale.table.place_of(history.target)
    else:
        assert not isinstance(found, Matches)
