"""Main was rolled back, and another Flink job commits first above the target: that explains nothing."""

from collections.abc import Callable

import pytest

from bot.diagnosis import recovered_by_itself, rolled_back_while_running, source_positions_skipped
from bot.domain.diagnosis import CannotTell, Excluded, Matches
from bot.domain.ids import OperatorId
from bot.domain.rollbacks import Sequel, rollbacks
from bot.domain.suspicion import propose_window
from tests.cases import Tale, job_id
from tests.diagnosis.little_evidence import case_of, look
from tests.diagnosis.little_world import World

GUEST, NEW_UID = OperatorId("ee" * 16), OperatorId("dd" * 16)


def rolled_back() -> Tale:
    """Somebody sets main from 7 back to 3."""
    return Tale().flink_runs("a").commits("a", *range(1, 8)).rolls_back_to("a", 3)


def guest(tale: Tale) -> Tale:
    """Through its own sink."""
    return tale.commits("z", 2).by_sink(GUEST)


def guest_under_the_same_uid(tale: Tale) -> Tale:
    """As where both jobs leave the sink its default uid."""
    return tale.commits("z", 2)


def named_guest(tale: Tale) -> Tale:
    """Flink lists it under another name."""
    tale.flink_runs("z")
    tale.runs["z"] = tale.runs["z"].model_copy(update={"name": "backfill"})
    return guest(tale)


GUESTS = [guest, guest_under_the_same_uid, named_guest]


@pytest.mark.parametrize("after", [(), (8,), (8, 9)], ids=["before the job commits", "it has committed", "twice"])
@pytest.mark.parametrize("comes", GUESTS)
def test_a_guest_does_not_explain_a_rollback(comes: Callable[[Tale], Tale], after: tuple[int, ...]) -> None:
    """The job goes on above the hole, or is about to."""
    tale = comes(rolled_back()).commits("a", *after) if after else comes(rolled_back())
    case = tale.looked_at(missing=40 if after else 0).model_copy(update={"job_name": "orders"})

    found, healthy = rolled_back_while_running.examine(case), recovered_by_itself.examine(case)

    assert isinstance(found, Matches)
    assert (tale.at("a", 3), job_id("a")) == (found.last_good, found.wrong_run)
    assert isinstance(healthy, Excluded)


@pytest.mark.parametrize("is_down", [False, True], ids=["Flink is seen", "Flink is down"])
@pytest.mark.parametrize("after", [(), (8,)], ids=["before the job commits", "it has committed"])
def test_trust_stays_below_what_was_lost(after: tuple[int, ...], is_down: bool) -> None:
    """Not at the head that a guest has made."""
    tale = guest(rolled_back())
    tale = tale.commits("a", *after) if after else tale
    tale = tale.flink_is_down() if is_down else tale

    proposed = propose_window(tale.table, tale.jobs)

    assert (tale.at("a", 3), tale.at("a", 3)) == (proposed.window.since, proposed.trusted)
    assert "lost 4 commits" in proposed.because


@pytest.mark.parametrize("after", [(), (8,)], ids=["before the job commits", "it has committed"])
def test_a_guest_that_repeats_what_it_lost_itself_explains_nothing_of_the_job(after: tuple[int, ...]) -> None:
    """The guest was rewound with the table, and the job was not."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 8)).commits("z", 5).by_sink(GUEST).rolls_back_to("a", 3)
    tale.commits("z", 5).by_sink(GUEST)
    tale = tale.commits("a", *after) if after else tale

    found = rolled_back_while_running.examine(tale.looked_at(missing=40 if after else 0))
    proposed = propose_window(tale.table, tale.jobs)

    assert isinstance(found, Matches)
    assert (tale.at("a", 3), tale.at("a", 3)) == (found.last_good, proposed.trusted)


def test_what_the_source_skipped_is_another_question() -> None:
    """The lost commits had brought the missing rows."""
    world = World()
    for _ in range(7):
        world.reads(1)
    world.rolls_back_to(world.chain()[2].snapshot_id)
    world.guest_commits("append", 2, takes=(), by_own_sink=True)
    for _ in range(3):
        world.reads(1)

    found = source_positions_skipped.examine(case_of(world, look(world)))

    assert isinstance(found, Excluded)
    assert "(F6)" in found.reason


def test_setting_main_back_would_take_the_guests_rows() -> None:
    """It is said only where nothing stands above the target."""
    alone, beside = rolled_back(), guest(rolled_back())

    told = [rolled_back_while_running.examine(tale.looked_at()) for tale in (alone, beside)]

    said = [any("would undo" in r for r in each.reasons) for each in told if isinstance(each, Matches)]
    assert [True, False] == said


def rewound_together(sink: OperatorId | None, *, forgets: str = "") -> Tale:
    """Main went back to 3 while the job was down; run b began there, and c from its 6."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 8)).becomes("a", "CANCELED")
    tale.rolls_back_to("a", 3).flink_runs("b", restored=3)
    for run, checkpoint in (("b", 4), ("b", 5), ("b", 6), ("c", 7), ("c", 8)):
        if (run, checkpoint) == ("c", 7):
            tale.becomes("b", "CANCELED").flink_runs("c", restored=6)
        tale.commits(run, checkpoint)
        if sink is not None:
            tale.by_sink(sink)
    for run in forgets:
        tale.forgets(run)
    return tale


@pytest.mark.parametrize("sink", [None, NEW_UID], ids=["its sink", "another uid"])
@pytest.mark.parametrize("forgets", ["", "a", "ab"], ids=["all are listed", "the first is not", "the newest alone is"])
def test_the_jobs_own_next_run_explains_it(sink: OperatorId | None, forgets: str) -> None:
    """Under a new job id, and under another uid; a run that Flink has forgotten by the sink of one that it lists."""
    tale = rewound_together(sink, forgets=forgets)

    (found,) = rollbacks(tale.table, tale.jobs.values)

    assert (tale.at("b", 4), Sequel.OTHER_RUN) == (found.next_commit, found.sequel)
    assert isinstance(rolled_back_while_running.examine(tale.looked_at()), Excluded)


def test_a_guest_between_does_not_hide_the_jobs_next_run() -> None:
    """Table and job were rewound together, and the guest came first."""
    tale = rolled_back().becomes("a", "CANCELED")
    guest(tale).flink_runs("b", restored=3).commits("b", 4, 5).by_sink(NEW_UID)

    (found,) = rollbacks(tale.table, tale.jobs.values)

    assert (tale.at("b", 4), Sequel.OTHER_RUN) == (found.next_commit, found.sequel)


def redeployed_under_new_uids(*, idle: bool) -> Tale:
    """Run b went on from the rewind under a new uid, and c from its 9; Flink has forgotten a and b."""
    tale = rolled_back().becomes("a", "FINISHED").flink_runs("b", restored=3)
    for checkpoint in range(4, 10):
        tale.commits("b", checkpoint).by_sink(NEW_UID)
    tale.becomes("b", "FINISHED").flink_runs("c", restored=9).forgets("a").forgets("b")
    if not idle:
        for checkpoint in (10, 11):
            tale.commits("c", checkpoint).by_sink(OperatorId("cc" * 16))
    return tale


@pytest.mark.parametrize("idle", [True, False])
def test_forgotten_runs_under_new_uids_make_no_hole_of_a_right_rollback(idle: bool) -> None:
    """No position is missing. Were one, nothing would tell whether run b was the job's. Before run c has brought rows,
    nothing tells whether its checkpoint 9 was of b, or of a, which may have come that far in silence."""
    tale = redeployed_under_new_uids(idle=idle)

    assert isinstance(rolled_back_while_running.examine(tale.looked_at()), Excluded)
    assert isinstance(recovered_by_itself.examine(tale.looked_at()), CannotTell if idle else Matches)
    [found] = rollbacks(tale.table, tale.looked_at().runs)
    assert found.sequel is Sequel.UNTOLD


@pytest.mark.parametrize("checkpoint", [2, 4, 13])
def test_a_guest_under_the_same_uid_explains_nothing_once_the_job_was_redeployed(checkpoint: int) -> None:
    """Main was rolled back to 3, and run c was restored from the savepoint 16, which holds what main lost."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, *range(13, 17)).rolls_back_to("a", 3)
    tale.becomes("a", "FINISHED").flink_runs("c", restored=16).commits("z", checkpoint)

    found = rolled_back_while_running.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert tale.at("a", 3) == found.last_good


@pytest.mark.parametrize("is_down", [False, True], ids=["Flink is seen", "Flink is down"])
@pytest.mark.parametrize("many", [1, 30])
def test_a_guest_from_before_all_that_flink_lists_hides_no_hole(many: int, is_down: bool) -> None:
    """Main was set back while the job was stopped, and run b was restored from the savepoint 7; its cluster is a new
    one, which never knew run a. The guest's ids lead nowhere near 7."""
    tale = guest(rolled_back().becomes("a", "FINISHED")).flink_runs("b", restored=7)
    tale.commits("b", *range(8, 8 + many)).forgets("a")
    table, runs = tale.table, tale.looked_at().runs
    proposed = propose_window(table, tale.flink_is_down().jobs if is_down else tale.jobs)

    [found] = rollbacks(table, runs)

    assert found.sequel is Sequel.WENT_ON
    assert tale.at("a", 3) == proposed.trusted


@pytest.mark.parametrize("checkpoint", [2, 102])
@pytest.mark.parametrize("many", [0, 1, 25])
def test_a_guest_counts_by_itself_where_main_was_set_back_to_its_commit(checkpoint: int, many: int) -> None:
    """Run c goes on from the savepoint 7, which holds what main lost, and fails over once. Where the guest's id was the
    higher one, all that was lost lay below it, and table and job were said to be rewound together."""
    world = World()
    for _ in range(3):
        world.reads(1)
    world.guest_commits("append", checkpoint, takes=(), by_own_sink=True)
    target = world.chain()[-1].snapshot_id
    for _ in range(4):
        world.reads(1)
    world.tale.becomes("a", "FINISHED")
    world.rolls_back_to(target)
    world.restarts(world.points[-1])
    for _ in range(many):
        world.reads(1)
    if many > 1:
        world.fails_over()
        world.reads(1)

    proposed, case = propose_window(world.tale.table, world.tale.jobs), case_of(world, look(world))

    assert isinstance(rolled_back_while_running.examine(case), Matches)
    assert world.tale.table.place_of(proposed.trusted) <= world.tale.table.place_of(target)
