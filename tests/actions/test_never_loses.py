"""Whatever has become of a table, no proposal that is carried out loses or doubles a row that was right before it, but
those of other writers that it names.

Histories of the little world are made up, in which recoveries have been carried out too; the world itself counts.
"""

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from bot.incident.effects import MoveTable
from bot.incident.proposal import Proposal
from bot.observation.ids import SnapshotId
from tests.actions.little_incidents import (
    STARTS,
    expires,
    is_restored,
    is_rewound_under_its_id,
    proposals,
    recovered,
    recovers,
    repeats,
)
from tests.actions.little_recovery import touched_by, wrong_before, wrong_rows
from tests.cases import OPERATOR, job_id
from tests.diagnosis.little_world import World
from tests.diagnosis.made_up_histories import BAD, CHANGES, GOOD, Story, stories
from tests.made_up import EXAMPLES

pytestmark = [pytest.mark.made_up, pytest.mark.smoke]

RECOVERIES = {
    "is recovered": recovers,
    "is recovered again": recovers,
    "is restored": is_restored,
    "what main has lost expires": expires,
}
OFTEN = [
    "reads", "is quiet", "fails over", "is restarted where it stood", "is restarted from an older point",
    "is rolled back", "is rolled back and set forward", "is set to another line", "drops a checkpoint",
    "fails in flight", "is compacted", "gets a lost commit back by a pick", "has a guest", "is forgotten by Flink",
]  # fmt: skip
"""What is told apart by states and commits, which the rest hides."""
FEW = {name: (GOOD | BAD)[name] for name in OFTEN} | RECOVERIES
UNDER_ONE_ID = {name: FEW[name] for name in ("reads", "is quiet", "fails over", "is restarted where it stood")} | {
    "is rewound under its id": is_rewound_under_its_id,
    "is rewound again": is_rewound_under_its_id,
    "is recovered": recovers,
}
"""Checkpoint ids come again. Where main is set to a line that an earlier start of the run had lost, nothing tells any
more whose they are."""
_LEFT_OUT = {"skips positions", "is added to"}
ALL = {name: act for name, act in (GOOD | BAD).items() if name not in _LEFT_OUT} | RECOVERIES
"""Positions that the source itself jumps over are wrong in every state from then on. Of rows that somebody has put
back one by one only their keys tell: `duplicate_rows` on the repair's branch, which this world has not, finds those
that come a second time before anything is published."""
REAL = {"repeats a commit": repeats} | {
    name: CHANGES[name] for name in ("is rolled back", "is set to another line", "changes nothing")
}
"""What becomes of real tables; other changes leave no state that tells the truth."""

STAYS = {"changes nothing": CHANGES["changes nothing"]}


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    story=st.one_of(stories(FEW, REAL), stories(ALL, REAL), stories(UNDER_ONE_ID, STAYS)),
    savepoints=st.booleans(),
    drops_others=st.booleans(),
    ends=st.sampled_from([None, "FAILED", "RESTARTING"]),
    rows=st.integers(0, 2),
)
def test_what_was_right_stays_right(
    story: Story, savepoints: bool, drops_others: bool, ends: str | None, rows: int
) -> None:
    """Every proposal that can be made is carried out, each on a world of its own."""
    world = story.world
    if ends is not None and world.run in world.tale.runs:
        world.tale.fails(world.run, times=3).becomes(world.run, ends)

    for proposal in proposals(world, story.looked.since, savepoints=savepoints, drops_others=drops_others):
        there = recovered(world, proposal, savepoints=savepoints, rows=rows)
        if there is not None:
            _is_as_right_as_before(world, there, proposal)


def _is_as_right_as_before(world: World, there: World, proposal: Proposal) -> None:
    note(f"{proposal.code} {proposal.title}: {[each.model_dump(exclude_defaults=True) for each in proposal.effects]}")
    before, after = wrong_rows(world), wrong_rows(there)
    target = next((each.to for each in proposal.effects if isinstance(each, MoveTable)), world.tale.head)
    assert target is not None
    excused = wrong_before(there, target, after) | touched_by(there, [*_named(proposal), *not_told_apart(world)])
    doubled = {each for each, n in after.doubled.items() if n > before.doubled[each]}
    assert (set(), set()) == (after.lost - before.lost - excused, doubled - excused), (before, after)


def _named(proposal: Proposal) -> list[SnapshotId]:
    return [each for other in proposal.preview.others for each in other.commits]


def not_told_apart(world: World) -> list[SnapshotId]:
    """Another job's commits under the job's own operator id: nothing shows whose they are."""
    return [s.snapshot_id for s in world.tale.snapshots if s.job_id == job_id("z") and s.operator_id == OPERATOR]


@settings(max_examples=EXAMPLES // 10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(stories({name: GOOD[name] for name in ("reads", "is quiet")}, STAYS))
def test_a_job_that_is_well_can_be_restarted(story: Story) -> None:
    """The property above would hold for actions that propose nothing; this one sees that they do."""
    made = {each.action for each in proposals(story.world, None, savepoints=True)}

    assert set(STARTS) <= made
