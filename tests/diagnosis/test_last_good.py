"""A snapshot is called good only where somebody looked at the rows up to it, whichever mode names it."""

import os

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import bot.diagnosis
from bot.diagnosis._examine import diagnose
from bot.diagnosis._scan import scan
from bot.domain.diagnosis import Case, Matches
from bot.domain.last_good import LastGoodRows, called
from tests.cases import Tale
from tests.diagnosis.little_evidence import TASKS, case_of, look
from tests.diagnosis.little_world import World
from tests.diagnosis.made_up_histories import BAD, CHANGES, GOOD, Story, stories
from tests.found import twice

MODES = scan(bot.diagnosis)
EXAMPLES = int(os.environ.get("WATERLINE_EXAMPLES", "400"))
"""Raise it for a long hunt."""


def waiting() -> Tale:
    """2 is committed; Flink completed 3 to 6, and their manifests are on storage (F11)."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).completes("a", 3, 4, 5, 6)
    return tale.leaves_manifest("a", 3, 4, 5, 6)


def restarted() -> Tale:
    """`b` was started without state after 3 of `a` and has committed (F15)."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED").flink_runs("b").commits("b", 1, 2)


def rewound() -> Tale:
    """`b` was restored from 2 of `a`, which had committed up to 4 (F2)."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4).becomes("a", "CANCELED")
    return tale.flink_runs("b", restored=2).commits("b", 3, 4)


def named(case: Case, code: str) -> Matches:
    """What this mode says of the case."""
    return next(match for mode, match in diagnose(case, MODES).matches if mode.code == code)


def test_what_waits_for_its_commit_does_not_make_the_head_good() -> None:
    """F11 knows that nothing is lost of what waits; of the rows that are there it knows nothing."""
    looked = named(waiting().looked_at(), "F11")
    unlooked = named(waiting().case(), "F11")

    assert LastGoodRows.CLEAN is looked.last_good_rows
    assert LastGoodRows.NOT_LOOKED_AT is unlooked.last_good_rows
    assert unlooked.last_good is not None


def test_a_head_with_doubled_rows_is_not_named_by_what_leaves_the_table_as_it_is() -> None:
    """To wait, or to tell the consumers, goes back to nothing: then there is no good snapshot to be named."""
    found = named(waiting().looked_at(duplicates=3), "F11")

    assert (None, None) == (found.last_good, found.last_good_rows)


def test_right_rows_since_a_start_without_state_say_nothing_of_those_below_it() -> None:
    """F15 where its source began in the right place, over a table whose older rows repeat by another fault."""
    tale = restarted()
    again = tale.snapshots[1].snapshot_id
    older = twice(2, [(tale.snapshots[0].snapshot_id, again)])
    case = tale.looked_at()

    clean = named(case, "F15")
    doubled = named(case.model_copy(update={"duplicates": older}), "F15")

    assert LastGoodRows.CLEAN is clean.last_good_rows
    assert LastGoodRows.WRONG is doubled.last_good_rows
    assert doubled.last_good == clean.last_good, "a rewind still needs to know where the fault begins"


def test_copies_that_came_above_leave_the_snapshot_below_clean() -> None:
    """The pairs tell which commits brought the further copies."""
    tale = rewound()
    older, newer = tale.snapshots[2].snapshot_id, tale.snapshots[4].snapshot_id

    above = named(tale.looked_at().model_copy(update={"duplicates": twice(9, [(older, newer)])}), "F2")
    untold = named(tale.looked_at(duplicates=9), "F2")

    assert (tale.at("a", 4), LastGoodRows.CLEAN) == (above.last_good, above.last_good_rows)
    assert LastGoodRows.NOT_LOOKED_AT is untold.last_good_rows


def test_what_lies_where_the_window_begins_was_not_looked_at() -> None:
    """Evidence reads the rows of the window; those below were taken for good when it was chosen."""
    tale = rewound()

    found = named(tale.looked_at(since=tale.at("a", 4)), "F2")

    assert (tale.at("a", 4), LastGoodRows.NOT_LOOKED_AT) == (found.last_good, found.last_good_rows)


def test_a_delete_above_may_have_taken_the_copies_away() -> None:
    """That no key lives twice at the head says nothing of the state before another writer's delete (F21)."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).commits(None, operation="delete", rows=0).commits("a", 3)

    found = named(tale.looked_at(), "F21")

    assert (tale.at("a", 2), LastGoodRows.NOT_LOOKED_AT) == (found.last_good, found.last_good_rows)


def test_a_compaction_above_may_have_taken_away_what_shows_the_gap() -> None:
    """The head ends where a gap of below begins once a compaction has lost all rows beyond it; with equality deletes in
    the table its counters tell nothing of a loss, and only the comparison of its keys does."""
    world = World(equality_deletes=1)
    world.reads(2)
    world.reads(2, commits=False)
    below = world.reads(2)
    world.compacts(loses=world.live()[-2:])
    looked = look(world)

    compared = named(case_of(world, looked), "F21")
    world.tale.flink_is_down()
    unseen = named(case_of(world, looked), "F21")

    for found in (compared, unseen):
        assert (below, LastGoodRows.NOT_LOOKED_AT) == (found.last_good, found.last_good_rows)


def test_a_compaction_that_nobody_compared_vouches_for_nothing_below_it() -> None:
    """It wrote fewer rows than it read; whether equality deletes had taken the others nobody knows."""
    world = World(equality_deletes=1, deleted=1)
    world.reads(2)
    last = world.reads(2)
    world.another_commits("append", adds=[4])
    world.compacts(works_in=1)
    looked = look(world)

    compared = named(case_of(world, looked), "F21")
    uncompared = named(case_of(world, looked, without=["corrected"]), "F21")

    assert (last, LastGoodRows.CLEAN) == (compared.last_good, compared.last_good_rows)
    assert (last, LastGoodRows.NOT_LOOKED_AT) == (uncompared.last_good, uncompared.last_good_rows)


def test_what_is_not_known_to_be_clean_is_never_called_good() -> None:
    """The words for each, and for a match of an older version, which did not say."""
    snapshot = restarted().snapshots[0].snapshot_id

    words = {rows: " ".join(called(snapshot, rows)) for rows in (*LastGoodRows, None)}

    assert {"clean", None} == {rows for rows, text in words.items() if text.startswith("Last good snapshot")}
    assert "not looked at" in words[LastGoodRows.NOT_LOOKED_AT]
    assert "wrong" in words[LastGoodRows.WRONG]


def test_an_old_match_stays_as_it_was_written() -> None:
    """The journal's hashes cover every field: one that says nothing is not written."""
    found = named(waiting().looked_at(), "F11")

    old = found.model_copy(update={"last_good_rows": None})

    assert "newest_wrong" not in found.model_dump(mode="json")
    assert "last_good_rows" not in old.model_dump(mode="json")
    assert "clean" == found.model_dump(mode="json")["last_good_rows"]


@settings(max_examples=EXAMPLES // 2, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(stories(GOOD | BAD, CHANGES), st.lists(st.sampled_from(sorted(TASKS)), max_size=1), st.booleans())
def test_no_mode_calls_a_snapshot_good_whose_rows_are_doubled_or_missing(
    story: Story, without: list[str], flink: bool
) -> None:
    """The world counts the truth, for each snapshot that any mode names."""
    if not flink:
        story.world.tale.flink_is_down()

    found = diagnose(case_of(*story, without), MODES).matches

    for mode, match in found:
        event(f"{mode.code} {match.last_good_rows}")
        assert (match.last_good is None) == (match.last_good_rows is None), mode.code
        if match.last_good_rows is LastGoodRows.CLEAN:
            assert set() == story.world.doubled(match.last_good), mode.code
            below = story.world.live(match.last_good)
            assert set() == set(range(min(below, default=0), max(below, default=-1) + 1)) - set(below), mode.code
