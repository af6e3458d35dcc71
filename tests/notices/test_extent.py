"""What exactly was wrong: never said to be whole where it is not known."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from bot.domain.findings import GapsFinding, ReplayableFinding
from bot.domain.replay import ReplayRange
from bot.notices import NoticeTemplate, data_of, render
from tests import orders_table as orders
from tests.incidents import Story
from tests.notices.rewound_facts import EIGHT, facts_of, minute_ledger, partitioned_by, reads_of, rewound
from tests.published import WRONG, table_rewound


def test_the_last_message_says_exactly_what_was_wrong(story: Story, templates: Mapping[str, NoticeTemplate]) -> None:
    """Snapshots, event times, partitions, keys, and from where to run again."""
    facts = facts_of(rewound(story))

    text = render(templates["recovered"], facts)

    assert "event times from 3 Nov 2026, 08:06:00 to 08:08:59 UTC." in text
    assert "Partitions: day(event_time) 2026-11-03." in text
    assert f"Snapshots: {', '.join(f'`{each}`' for each in WRONG)}." in text
    assert "200 keys (order_id) had more than one row." in text
    assert "Examples: 4711; 4712." in text
    assert f"drop what you read after snapshot `{orders.GOOD}`, and start again there" in text


def test_a_program_is_told_the_same(story: Story) -> None:
    """What it needs to run again by itself."""
    facts = facts_of(rewound(story), reads=reads_of(*WRONG))

    data = data_of(facts, "recovered")

    assert data.rerun is not None
    assert (data.rerun.needed, data.rerun.runs) == (True, ("run-1",))
    assert data.rerun.read_snapshots == WRONG
    assert (data.rerun.from_snapshot, data.rerun.resume_after) == (orders.GOOD, None)
    assert data.rerun.event_from == EIGHT + timedelta(minutes=6)
    assert data.rerun.event_until == EIGHT + timedelta(minutes=8, seconds=59)
    assert data.rerun.partitions == data.affected_partitions == ("day(event_time) 2026-11-03",)
    assert (data.keys_repeated, data.keys_changed, data.keys_gone) == (200, None, None)


@pytest.mark.parametrize(
    "changes",
    [
        {"event_from": None, "event_until": None},
        {"removed_rows": 3},
        {"added_delete_files": 1},
    ],
    ids=["no bounds", "replaced rows", "deleted by key"],
)
def test_times_that_are_not_all_known_are_not_told_as_a_range_to_compute(
    story: Story, templates: Mapping[str, NoticeTemplate], changes: dict[str, object]
) -> None:
    """A range that is too small would leave wrong results standing."""
    facts = facts_of(rewound(story, minute_ledger(**changes)))

    text, data = render(templates["recovered"], facts), data_of(facts, "recovered")

    assert data.rerun is not None
    assert (data.rerun.event_from, data.rerun.event_until, data.affected_event_from) == (None, None, None)
    assert (data.rerun.partitions, data.affected_partitions) == ((), ())
    assert "not fully known for 1 commit" in text
    assert "Partitions by day(event_time): not known." in text
    assert "We do not know all event times of these rows" in text


def test_commits_that_came_after_the_ledger_leave_the_range_open(story: Story) -> None:
    """The job went on committing until it was stopped."""
    ledger = minute_ledger()
    facts = facts_of(rewound(story, ledger.model_copy(update={"rows": ledger.rows[:-1]})))

    assert facts.affected is not None
    assert (facts.affected.events_untold, facts.rerun.event_from) == (1, None)


def test_a_compaction_brings_no_rows(story: Story) -> None:
    """It copies old ones: neither its rows nor their times were wrong."""
    table = partitioned_by(table_rewound(), "day(event_time)")
    last = next(s for s in table.snapshots if s.snapshot_id == orders.HEAD)
    replaced = [s if s is not last else last.model_copy(update={"operation": "replace"}) for s in table.snapshots]
    early = {"event_from": EIGHT - timedelta(days=9)}

    facts = facts_of(
        rewound(story, minute_ledger(**early)), table=table.model_copy(update={"snapshots": tuple(replaced)})
    )

    assert facts.affected is not None
    assert (facts.affected.rows, facts.affected.events_untold) == (200, 0)
    assert facts.affected.event_from == EIGHT + timedelta(minutes=6)


def test_partitions_that_no_ledger_saw_are_not_guessed(story: Story) -> None:
    """Only those by time follow from the event times."""
    fields = ("hour(event_time)", "bucket[16](order_id)", "day(loaded_at)")

    facts = facts_of(rewound(story), table=partitioned_by(table_rewound(), *fields))

    assert facts.affected is not None
    assert facts.affected.partitions == ("hour(event_time) 2026-11-03-08",)
    assert facts.affected.partitions_untold == ("bucket[16](order_id)", "day(loaded_at)")


def test_a_table_without_partitions_says_nothing_of_them(story: Story, templates: Mapping[str, NoticeTemplate]) -> None:
    """Nobody asks for what is not there."""
    text = render(templates["recovered"], facts_of(rewound(story), table=partitioned_by(table_rewound())))

    assert "artition" not in text


def test_missing_rows_widen_what_is_computed_again(story: Story, templates: Mapping[str, NoticeTemplate]) -> None:
    """By the event times that their source gives; where it was not asked, nothing is said."""
    gaps = GapsFinding(lowest=1, highest=900, positions=890, missing=10, gaps=())
    story.opens().answers("missing_positions", finding=gaps).draws_the_ledger(minute_ledger())
    story.diagnoses().proposes().approves().rewinds().verifies()
    unknown, text = facts_of(story).rerun, render(templates["recovered"], facts_of(story))
    given = ReplayableFinding(
        bounds=ReplayRange(), missing=10, given=10, repeated=0, absent=10, elsewhere=0, not_given=0,
        event_from=EIGHT - timedelta(minutes=5), event_until=EIGHT, digest="0" * 64,
    )  # fmt: skip
    story.answers("replayable_rows", finding=given)

    known = facts_of(story).rerun

    assert (unknown.event_from, unknown.event_until) == (None, None)
    assert "Event times: from" in text
    assert "We do not know all event times of the missing rows." in text
    assert known.event_from == EIGHT - timedelta(minutes=5)
    assert known.event_until == EIGHT + timedelta(minutes=8, seconds=59)
