"""A replay that an older version proposed keeps its digest: approvals of it stay approvals."""

from bot.domain.replay import PositionRange, Replay, ReplayRange
from tests.repairs.recipes import declared


def test_what_older_versions_did_not_know_is_left_out_where_it_says_nothing() -> None:
    """Neither the bounds by partitions nor the times of the rows."""
    replay = Replay(
        recipe=declared(),
        bounds=ReplayRange(positions=(PositionRange(first=1, last=2),)),
        key=("order_id",),
        position="source_position",
        position_partition=None,
        event_time=None,
        rows=2,
        digest="2-1-1",
    )

    told = replay.model_dump(mode="json")

    assert told["bounds"].keys() == {"positions", "event_from", "event_until"}
    assert told.keys() == {
        "recipe", "bounds", "key", "position", "position_partition", "event_time", "rows", "digest",
    }  # fmt: skip
    assert Replay.model_validate(told) == replay
