"""Whatever happens to a table, it is never called healthy, nor a snapshot good, while rows are lost or doubled."""

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

import bot.diagnosis
from bot.diagnosis import healthy
from bot.diagnosis import no_snapshot_advanced as mode
from bot.diagnosis._support.examine import diagnose, scan
from bot.diagnosis._support.last_good import rows_up_to
from bot.history.case import Case
from bot.incident.diagnosis import LastGoodRows, Matches, called
from bot.observation.findings import DuplicatePair, DuplicatesFinding, GapsFinding, PositionGap
from bot.observation.ids import SnapshotId
from tests.cases import Tale
from tests.diagnosis.little_evidence import TASKS, case_of, look
from tests.diagnosis.little_silences import owes, should_have_arrived, stands_still, writes_by_two_sinks
from tests.diagnosis.little_world import World
from tests.diagnosis.made_up_histories import BAD, CHANGES, GOES_BACK, GOOD, RESTARTS, Story, first_rows_tell, stories
from tests.found import twice, with_positions
from tests.made_up import EXAMPLES

pytestmark = pytest.mark.made_up


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    stories(GOOD | BAD, CHANGES),
    st.lists(st.sampled_from(sorted(TASKS)), max_size=1),
    st.booleans(),
    st.sampled_from([timedelta(0), timedelta(minutes=1)]),
)
def test_a_table_with_lost_or_doubled_rows_is_never_healthy(
    story: Story, without: list[str], flink: bool, pause: timedelta
) -> None:
    """The truth is counted by the world; no history, no change, no missing source and no evidence from before what came
    last makes it healthy."""
    if not flink:
        story.world.tale.flink_is_down()
    story.world.tale.now += pause

    found = healthy.examine(case_of(*story, without))

    event("healthy" if isinstance(found, Matches) else "not healthy")
    if isinstance(found, Matches):
        all_is_right(story, found)


@pytest.mark.parametrize("goes_back", sorted(GOES_BACK))
@settings(max_examples=EXAMPLES // 2, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), sees_to_come=st.booleans())
def test_what_flink_no_longer_shows_hides_nothing(goes_back: str, data: st.DataObject, sees_to_come: bool) -> None:
    """A run that fails over shows its newest restore only, and one that has ended is forgotten: where the rows went
    that main lost, or had before it was replaced, is not known then, and unknown is not healthy. Nor is it where no
    file tells any more what main lost above all that lives."""
    acts = RESTARTS | {goes_back: GOES_BACK[goes_back]}
    story = data.draw(stories(acts, {"changes nothing": CHANGES["changes nothing"]}))
    case = case_of(*story)
    if case.gaps is not None and not sees_to_come:
        case = case.model_copy(update={"gaps": case.gaps.model_copy(update={"to_come": 0})})

    found = healthy.examine(case)

    event("healthy" if isinstance(found, Matches) else "not healthy")
    if isinstance(found, Matches):
        all_is_right(story, found)


def all_is_right(story: Story, found: Matches) -> None:
    """What the world says of a table that is called healthy."""
    assert set() == story.world.lost(story.looked.finished)
    assert set() == story.world.never_arrived(should_have_arrived(story.world))
    assert set() == story.world.taken_off()
    assert set() == story.world.replaced_under_it()
    assert set() == story.world.doubled(found.last_good)
    assert not stands_still(story.world)
    assert not story.world.writes_branch
    assert not owes(story.world, story.looked.at)


@settings(max_examples=EXAMPLES // 4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(stories(GOOD, {"changes nothing": CHANGES["changes nothing"]}))
def test_a_history_without_a_fault_is_healthy(story: Story) -> None:
    """The property above would hold for a mode that never matched; this one sees that it does."""
    looked = look(story.world, story.looked.since)

    found = healthy.examine(case_of(story.world, looked))

    assume(not first_rows_tell(found))
    assert isinstance(found, Matches), found
    assert set() == story.world.lost(looked.finished) | story.world.doubled(None)


@settings(max_examples=EXAMPLES // 4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(stories(GOOD, CHANGES), st.sampled_from([None, *sorted(set(TASKS) - {"orphans", "corrected", "leaked"})]))
def test_without_a_source_nothing_is_healthy(story: Story, without: str | None) -> None:
    """Each source that health rests on is needed, Flink (None) too, whatever the others say."""
    if without is None:
        story.world.tale.flink_is_down()

    assert not isinstance(healthy.examine(case_of(*story, [without] if without else [])), Matches)


def test_a_commit_that_goes_from_under_a_compaction_is_missed() -> None:
    """It was the only one of the job, and the run was restored a moment ago: found by the tests above."""
    world = World()
    world.reads(2)
    world.another_commits("replace")
    world.fails_over()
    world.erases(world.chain()[0].snapshot_id)
    looked = look(world)

    assert world.lost(looked.finished)
    assert not isinstance(healthy.examine(case_of(world, looked)), Matches)


def ends(world: World, *, loops: bool) -> None:
    """The run is at its end, or only fails."""
    if loops:
        world.tale.fails(world.run, times=3).becomes(world.run, "RESTARTING")
    else:
        world.tale.becomes(world.run, "FAILED")


@settings(max_examples=EXAMPLES // 2, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    stories(GOOD | BAD, CHANGES),
    st.lists(st.sampled_from(sorted(TASKS)), max_size=1),
    st.booleans(),
    st.sampled_from([timedelta(0), timedelta(minutes=1)]),
)
def test_a_table_with_lost_or_doubled_rows_is_never_left_to_the_job(
    story: Story, without: list[str], loops: bool, pause: timedelta
) -> None:
    """What a restore of the job would not read again is lost; the world counts it. What main lost after evidence had
    looked at the very commit that it went back to is read again from the point that pairs with that."""
    story.world.tale.now += pause
    ends(story.world, loops=loops)

    found = mode.examine(case_of(*story, without))

    event("right" if isinstance(found, Matches) else "not right")
    if isinstance(found, Matches):
        assert set() == story.world.lost(story.looked.finished)
        never = story.world.never_arrived(should_have_arrived(story.world))
        assert set() == never - story.world.taken_off()
        assert set() == story.world.doubled(found.last_good)


@settings(max_examples=EXAMPLES // 4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(stories(GOOD, {"changes nothing": CHANGES["changes nothing"]}), st.booleans())
def test_a_history_without_a_fault_is_left_to_the_job(story: Story, loops: bool) -> None:
    """The property above would hold for a mode that never matched; this one sees that it does."""
    ends(story.world, loops=loops)

    found = mode.examine(case_of(story.world, look(story.world, story.looked.since)))

    assume(not first_rows_tell(found))
    assert isinstance(found, Matches), found
    assert story.world.tale.head == found.last_good


def test_a_sink_that_lost_its_only_commit_is_not_forgotten() -> None:
    """Found by the test above: the run's other sink has its commit, and the window begins at the run before."""
    world = World(keeps_keys=False)
    world.reads(2)
    world.restarts(world.points[-1])
    writes_by_two_sinks(world, 1)
    world.erases(world.chain()[-2].snapshot_id)
    looked = look(world, world.chain()[0].snapshot_id)
    ends(world, loops=False)

    assert {2} == world.lost(looked.finished)
    assert not isinstance(mode.examine(case_of(world, looked)), Matches)


MODES = scan(bot.diagnosis)


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


def placed(case: Case, *begins: int) -> Case:
    """The case whose ledger knows that these commits, oldest first, brought ten positions each from here on."""
    places = zip(case.ledger.rows, begins, strict=True)
    return with_positions(case, {row.snapshot_id: (low, low + 9) for row, low in places})


def with_copies(case: Case, *pairs: tuple[SnapshotId, SnapshotId, int], hidden: int = 0) -> Case:
    """The case where so many keys of the first commit came again by the second, and no other."""
    keys = sum(number for _, _, number in pairs)
    told = tuple(DuplicatePair(first=first, second=second, keys=number) for first, second, number in pairs)
    found = DuplicatesFinding(rows_checked=100, keys=keys, extra_rows=keys, hidden=hidden, pairs=told)
    return case.model_copy(update={"duplicates": found})


def named(case: Case, code: str) -> Matches:
    """What this mode says of the case."""
    return next(match for mode, match in diagnose(case, MODES).matches if mode.code == code)


def test_right_rows_since_a_start_without_state_say_nothing_of_those_below_it() -> None:
    """F15 where its source began in the right place, over a table whose older rows repeat by another fault."""
    tale = restarted()
    again = tale.snapshots[1].snapshot_id
    older = twice(2, [(tale.snapshots[0].snapshot_id, again)])
    case = placed(tale.looked_at(), 0, 10, 20, 30, 40)

    clean = named(case, "F15")
    doubled = named(case.model_copy(update={"duplicates": older}), "F15")

    assert LastGoodRows.CLEAN is clean.last_good_rows
    assert LastGoodRows.WRONG is doubled.last_good_rows
    assert doubled.last_good == clean.last_good, "a rewind still needs to know where the fault begins"


def test_copies_leave_it_clean_where_the_source_has_partitions() -> None:
    """The ledger's bounds cover all partitions together, but a commit of copies alone has filled nothing anywhere."""
    tale = rewound()
    _, _, third, fourth, again, last = (s.snapshot_id for s in tale.snapshots)
    case = placed(tale.looked_at(), 0, 10, 20, 30, 20, 30)
    case = case.model_copy(update={"contract": case.contract.model_copy(update={"position_partition": "part"})})

    copies = named(with_copies(case, (third, again, 10), (fourth, last, 10)), "F2")
    filled = named(with_copies(case, (third, again, 9), (fourth, last, 10)), "F2")

    assert LastGoodRows.CLEAN is copies.last_good_rows
    assert LastGoodRows.NOT_LOOKED_AT is filled.last_good_rows


def test_copies_in_a_commit_that_reads_on_hide_no_row_that_was_missing() -> None:
    """It begins below what older commits had reached, and as many rows as lie there are copies."""
    tale = rewound()
    _, _, _, fourth, again, last = (s.snapshot_id for s in tale.snapshots)
    case = placed(tale.looked_at(), 0, 10, 20, 30, 35, 45)

    found = named(with_copies(case, (fourth, again, 5)), "F2")
    filled = named(with_copies(case, (fourth, again, 4)), "F2")

    assert (fourth, LastGoodRows.CLEAN) == (found.last_good, found.last_good_rows)
    assert LastGoodRows.NOT_LOOKED_AT is filled.last_good_rows
    assert last == tale.head


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
    assert "not verified" in words[LastGoodRows.NOT_LOOKED_AT]
    assert "wrong" in words[LastGoodRows.WRONG]


def test_an_old_match_stays_as_it_was_written() -> None:
    """The journal's hashes cover every field: one that says nothing is not written."""
    found = named(waiting().looked_at(), "F11")

    old = found.model_copy(update={"last_good_rows": None})

    assert "newest_wrong" not in found.model_dump(mode="json")
    assert "last_good_rows" not in old.model_dump(mode="json")
    assert "clean" == found.model_dump(mode="json")["last_good_rows"]


def test_what_came_after_the_ledger_is_not_known_to_end_below_a_gap() -> None:
    """The ledger was asked before the commit that passed the gap, and positions after it."""
    tale = Tale().flink_runs("a").commits("a", 1)
    before = placed(tale.looked_at(), 0).ledger
    tale.commits("a", 2)
    gap = GapsFinding(lowest=0, highest=29, positions=20, missing=10, gaps=(PositionGap(first=10, last=19),))
    old = tale.looked_at(gaps=gap, ledger=before)
    new = placed(tale.looked_at(gaps=gap), 0, 20)

    assert rows_up_to(old, tale.at("a", 2)) is LastGoodRows.NOT_LOOKED_AT
    assert rows_up_to(new, tale.at("a", 2)) is LastGoodRows.WRONG
    assert rows_up_to(new, tale.at("a", 1)) is LastGoodRows.CLEAN


@settings(max_examples=EXAMPLES // 4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    stories(GOOD | BAD, CHANGES),
    st.lists(st.sampled_from(sorted(TASKS)), max_size=1),
    st.sampled_from(["RUNNING", "FAILED", "unseen"]),
)
def test_a_last_good_snapshot_is_on_main(story: Story, without: list[str], flink: str) -> None:
    """In every mode, wherever the window was to begin, and whatever main has lost since."""
    if flink == "unseen":
        story.world.tale.flink_is_down()
    else:
        story.world.tale.becomes(story.world.run, flink)
    case = case_of(*story, without)
    on_main = {s.snapshot_id for s in story.world.chain()}

    found = {code: module.examine(case) for code, module in MODES.items()}

    named = {code: one.last_good for code, one in found.items() if isinstance(one, Matches) and one.last_good}
    event("names a last good" if named else "names none")
    assert {code: good for code, good in named.items() if good not in on_main} == {}
