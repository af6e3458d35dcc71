"""What people type for an action: bounds of a replay, and whose rows may go."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from bot.actions import roll_back_table_and_restore_job, take_savepoint
from bot.actions._support.draft import job_and_head
from bot.actions.recover_leaked_manifests import _lost, propose
from bot.incident.asked import bounds_of, typed_proposal
from bot.observation.contract import TableContract
from bot.observation.errors import Refused
from bot.observation.file_changes import FileSurvey
from bot.observation.findings import LeakStanding
from bot.observation.replay import PositionRange, ReplayRange
from bot.service.proposals.choosing import may_say
from tests.actions.plans import seeing
from tests.actions.scene import Scene
from tests.cases import Tale
from tests.evidence.empty_tales import TALES, ask_of, case_of
from tests.found import leaks
from tests.tables import CONTRACT

BY_PARTITION = CONTRACT.model_copy(update={"position_partition": "source_partition"})
BARE = TableContract(key=("order_id",))
HIDING = CONTRACT.model_copy(update={"redacted": ("source_position", "event_time", "source_partition")})


def bounds(typed: str, contract: TableContract) -> ReplayRange:
    """As an action is given them."""
    return bounds_of(typed_proposal(f"replay_rows {typed}").bounds, contract)


def test_positions_are_inclusive_and_of_one_source_partition() -> None:
    """One position is a range, too."""
    assert bounds("positions=1200..1500", CONTRACT).positions == (PositionRange(first=1200, last=1500),)
    assert bounds("partition=3 positions=7", BY_PARTITION).positions == (PositionRange(first=7, last=7, partition="3"),)


def test_times_are_moments_in_utc() -> None:
    """Whatever the zone in which they were typed."""
    found = bounds("from=2026-11-03T12:00Z until=2026-11-03T14:00+01:00", CONTRACT)

    assert found == ReplayRange(
        event_from=datetime(2026, 11, 3, 12, tzinfo=UTC), event_until=datetime(2026, 11, 3, 13, tzinfo=UTC)
    )


@pytest.mark.parametrize(
    ("typed", "contract", "says"),
    [
        ("", CONTRACT, "Expected one kind of bounds; found none."),
        ("positions=1..2 from=2026-11-03T12:00Z", CONTRACT, "found positions= from=."),
        ("from=2026-11-03T12:00Z until=2026-11-03T13:00Z partition=source=1", CONTRACT, "one kind of bounds"),
        ("partition=event_hour=2026-11-03-12", CONTRACT, "Expected one kind of bounds; found partition=."),
        ("positions=5..4", CONTRACT, "These bounds are empty. Expected the first position first"),
        ("positions=-5..4", CONTRACT, "“-5..4” is not a range of positions."),
        ("positions=1..2;DROP", CONTRACT, "is not a range of positions."),
        ("positions=1..2", BARE, "the table's contract names no `position`"),
        ("positions=1..2", BY_PARTITION, "Expected `partition=` with a value of source_partition; found none."),
        ("positions=1..2 partition=0", CONTRACT, "The source has no partitions."),
        ("positions=1..2", HIDING, "A replay cannot be bounded by source_position: its values are never shown."),
        ("from=2026-11-03T12:00Z", CONTRACT, "The range of times has no `until=`."),
        ("from=2026-11-03T12:00 until=2026-11-03T13:00Z", CONTRACT, "from=2026-11-03T12:00 is not a time in UTC."),
        ("from=2026-11-03T13:00Z until=2026-11-03T12:00Z", CONTRACT, "These bounds are empty."),
        ("from=2026-11-03T12:00Z until=2026-11-03T12:00Z", CONTRACT, "Expected `until` after `from`"),
        ("from=2026-11-03T12:00Z until=2026-11-03T13:00Z", BARE, "names no `event_time`"),
    ],
)
def test_what_is_no_bound_is_refused_with_what_is(typed: str, contract: TableContract, says: str) -> None:
    """Before anything is read."""
    with pytest.raises(Refused) as refused:
        bounds(typed, contract)

    assert says in str(refused.value)


def test_choices_stand_between_the_action_and_the_reason() -> None:
    """What looks like one within the reason is part of it, and no yes; one that is named twice is not guessed."""
    typed = typed_proposal("replay_rows positions=1..2  partition=0 the source is from=archive")

    assert (typed.action, typed.bounds, typed.keeps) == ("replay_rows", {"positions": "1..2", "partition": "0"}, "")
    assert typed.reason == "the source is from=archive"
    assert typed_proposal("resolve_fork keep=BBBB newer").keeps == "bbbb"
    with pytest.raises(Refused, match="`positions=` is named twice"):
        typed_proposal("replay_rows positions=1..2 positions=3..4")
    typed = typed_proposal("roll_back_table_and_restore_job drop_others=yes the backfill is run again")

    assert (typed.drops_others, typed.reason, typed.bounds) == (True, "the backfill is run again", {})
    assert not typed_proposal("roll_back_table_and_restore_job because of drop_others=yes").drops_others
    assert not typed_proposal("roll_back_table_and_restore_job").drops_others


def test_an_action_that_drops_nothing_of_others_says_so() -> None:
    """With the one that does."""
    rewind, savepoint = (
        SimpleNamespace(action=each.ACTION, propose=each.propose)
        for each in (roll_back_table_and_restore_job, take_savepoint)
    )
    may_say(rewind, keeps="", bounds={}, drops_others=True)  # type: ignore[arg-type]
    may_say(savepoint, keeps="", bounds={}, drops_others=False)  # type: ignore[arg-type]

    with pytest.raises(Refused, match="propose roll_back_table_and_restore_job"):
        may_say(savepoint, keeps="", bounds={}, drops_others=True)  # type: ignore[arg-type]


def test_a_strange_schema_is_refused_before_anything_is_proposed() -> None:
    """What was expected, what was found, and that the source gives the rows in the present schema."""
    tale = Tale().flink_runs("a").commits("a", 5).leaves_manifest("a", 3)
    found = FileSurvey(add=None, remove=None, unfit=("x.avro: field 99 of its schema 9 is discount (long)",))
    case = tale.looked_at(leaked=leaks(*tale.manifests, standing=LeakStanding.DROPPED))
    plan: Any = SimpleNamespace(case=case, survey=lambda *_: found)

    with pytest.raises(Refused, match="do not fit the table") as refused:
        propose(plan)

    assert "field 99 of its schema 9 is discount (long)" in refused.value.found
    assert "Replay their source range" in refused.value.remedy


def test_untold_manifests_are_refused_with_what_to_ask() -> None:
    """Neither is the job said to commit them, nor are they said not to be there."""
    tale = Tale().flink_runs("a").commits("a", 5).leaves_manifest("a", 3)

    with pytest.raises(Refused) as refused:
        _lost(leaks(*tale.manifests, standing=LeakStanding.UNTOLD))

    assert "may have been read again" in refused.value.found
    assert "missing_positions" in refused.value.remedy


def test_where_nothing_was_committed_nobody_is_sent_to_a_configuration_that_is_right(scene: Scene) -> None:
    """The job is known; there is no head to go back to."""
    plan = scene.plan()
    empty = case_of(ask_of(TALES["commits wait"]())).observation.table

    with pytest.raises(Refused, match=r"Main has no commit.*start it by hand"):
        job_and_head(seeing(plan, table=empty), roll_back_table_and_restore_job.ACTION)
