"""Main was rolled back while another Flink job writes the table: whose commits tell what became of the job's."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from bot.diagnosis import flink_is_recovering, recovered_by_itself, rolled_back_while_running, source_positions_skipped
from bot.domain.diagnosis import CannotTell, Case, Excluded, Matches
from bot.domain.evidence import Evidence, Verdict
from bot.domain.findings import GapsFinding
from bot.domain.ids import DRAINED, EvidenceId, OperatorId, SnapshotId
from bot.domain.rollbacks import Rollback, Sequel, rollbacks
from bot.domain.suspicion import propose_window
from bot.domain.table import Window
from tests.cases import OPERATOR, Tale, job_id
from tests.diagnosis.little_evidence import case_of, look
from tests.diagnosis.little_world import World
from tests.found import hole

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
    assert isinstance(recovered_by_itself.examine(tale.looked_at()), CannotTell)
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


@pytest.mark.parametrize("sink", [OPERATOR, NEW_UID], ids=["the same uid", "a new uid"])
def test_a_drained_commit_is_no_count(sink: OperatorId) -> None:
    """Main was set back to it, and run c goes on from beyond what main lost."""
    tale = Tale().flink_runs("a", v1=True).commits("a", 1, 2, DRAINED).becomes("a", "FINISHED")
    tale.flink_runs("b", restored=3)
    for checkpoint in (5, 6, 7):
        tale.commits("b", checkpoint).by_sink(sink)
    tale.becomes("b", "FINISHED").rolls_back_to("a", DRAINED).flink_runs("c", restored=7)
    tale.commits("c", 8).by_sink(sink)

    [found] = rollbacks(tale.table, tale.looked_at().runs)

    assert found.sequel is Sequel.WENT_ON


@pytest.mark.parametrize(
    ("ids", "restored"),
    [((4, 20), 32), ((4, 5, DRAINED), 5), ((20, 30), 32)],
    ids=["begins at the target", "was drained", "ends where the next began"],
)
def test_a_forgotten_run_whose_ids_lead_on_leaves_it_open(ids: tuple[int, ...], restored: int) -> None:
    """Run b may have gone on from the rewind under a new uid; run c is silent."""
    tale = rolled_back().becomes("a", "FINISHED").flink_runs("b", restored=3)
    for checkpoint in ids:
        tale.commits("b", checkpoint).by_sink(NEW_UID)
    tale.becomes("b", "FINISHED").flink_runs("c", restored=restored).forgets("a").forgets("b")

    [found] = rollbacks(tale.table, tale.looked_at().runs)

    assert found.sequel is Sequel.UNTOLD


def test_a_guest_whose_ids_lie_near_neither_end_is_none_of_the_jobs() -> None:
    """Main had 3, and run b was restored from 100."""
    tale = rolled_back().becomes("a", "FINISHED").commits("z", 50).by_sink(GUEST)
    tale.flink_runs("b", restored=100).commits("b", 101).forgets("a")

    [found] = rollbacks(tale.table, tale.looked_at().runs)

    assert found.sequel is Sequel.WENT_ON


def told_of(tale: Tale) -> Rollback:
    """The only rollback."""
    (found,) = rollbacks(tale.table, tale.looked_at().runs)
    return found


def restored(tale: Tale, run: str, checkpoint: int, *, of: str) -> Tale:
    """A run that Flink shows as restored from a checkpoint of another one."""
    tale.flink_runs(run, restored=checkpoint)
    point = tale.runs[run].restored
    assert point is not None
    path = f"s3://lake/checkpoints/{job_id(of)}/chk-{checkpoint}"
    tale.runs[run] = tale.runs[run].model_copy(update={"restored": point.model_copy(update={"path": path})})
    return tale


# ---------------------------------------------------------------------- a guest lost some, too


def both_lost(checkpoint: int = 5, *, repeats: bool = True) -> Tale:
    """The job's 4 to 7, and a guest's commit; the job was stopped, the guest rewound with the table."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 8)).commits("z", checkpoint).by_sink(GUEST)
    tale.becomes("a", "FINISHED").rolls_back_to("a", 3)
    return tale.commits("z", checkpoint).by_sink(GUEST) if repeats else tale


@pytest.mark.parametrize("after", [(), (8, 9)], ids=["silent", "it has committed"])
@pytest.mark.parametrize("checkpoint", [2, 5, 20])
def test_a_guest_that_repeats_its_own_explains_nothing_of_runs_that_flink_has_forgotten(
    checkpoint: int, after: tuple[int, ...]
) -> None:
    """Run b was restored from the savepoint 7, which holds what main lost; its cluster never knew run a."""
    tale = both_lost(checkpoint).flink_runs("b", restored=7).forgets("a")
    tale = tale.commits("b", *after) if after else tale

    found = rolled_back_while_running.examine(tale.looked_at(missing=40))

    assert isinstance(found, Matches)
    assert (tale.at("a", 3), job_id("b")) == (found.last_good, found.wrong_run)
    assert tale.at("a", 3) == propose_window(tale.table, tale.jobs).trusted


@pytest.mark.parametrize("after", [(), (8,)], ids=["silent", "it has committed"])
def test_nor_where_flink_is_not_seen(after: tuple[int, ...]) -> None:
    """What one writer lost, another does not bring again."""
    tale = both_lost().flink_is_down()
    tale = tale.commits("a", *after) if after else tale

    assert not isinstance(rolled_back_while_running.examine(tale.looked_at(missing=40)), Excluded)
    assert tale.at("a", 3) == propose_window(tale.table, tale.jobs).trusted


@pytest.mark.parametrize("after", [(), (4, 5)], ids=["silent", "it has committed"])
@pytest.mark.parametrize("checkpoint", [2, 5, 20])
def test_what_a_guest_lost_accuses_no_job_that_was_rewound_with_the_table(
    checkpoint: int, after: tuple[int, ...]
) -> None:
    """Run b was restored from 3: what the guest lost under a lower id was never in its state."""
    tale = both_lost(checkpoint).flink_runs("b", restored=3).forgets("a")
    tale = tale.commits("b", *after) if after else tale

    assert isinstance(rolled_back_while_running.examine(tale.looked_at()), Excluded)


@pytest.mark.parametrize(("began", "expected"), [(3, CannotTell), (7, Matches)])
def test_a_run_that_is_of_neither_writer_may_go_on_from_the_one_or_the_other(began: int, expected: type) -> None:
    """Its uid is new. From 7 it goes on from what both lost; from 3, from what the guest lost, or from the target."""
    tale = both_lost(2, repeats=False).flink_runs("b", restored=began, vertices=False).forgets("a")

    found = rolled_back_while_running.examine(tale.looked_at(gaps=None))

    assert isinstance(found, expected)
    if isinstance(found, CannotTell):
        assert "whose state run bbbbbb goes on from" in found.missing[0]


def test_two_runs_of_one_sink_repeat_only_what_each_had() -> None:
    """As where both jobs leave the sink its default uid: the guest repeats 5, and nobody 4 to 7."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 8)).commits("z", 5).rolls_back_to("a", 3).commits("z", 5)

    assert Sequel.UNTOLD is told_of(tale.forgets("a")).sequel


# ---------------------------------------------------------------------- by the job's own sink


@pytest.mark.parametrize("checkpoint", [2, 4, 13])
@pytest.mark.parametrize("after", [(), (17, 18)], ids=["silent", "it has committed"])
def test_a_guest_under_the_same_uid_explains_nothing_that_came_while_a_run_lived(
    checkpoint: int, after: tuple[int, ...]
) -> None:
    """Main was rolled back under run a, which was redeployed since, with its savepoint 16."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, *range(13, 17)).rolls_back_to("a", 3).commits("z", checkpoint)
    tale.completes("a", 15, 16).becomes("a", "FINISHED").flink_runs("c", restored=16)
    tale = tale.commits("c", *after) if after else tale

    found = rolled_back_while_running.examine(tale.looked_at(missing=40))

    assert isinstance(found, Matches)
    assert tale.at("a", 3) == found.last_good == propose_window(tale.table, tale.jobs).trusted


def between(began: int, *, of: str = "a", guest: int = 2, forgets: bool = True) -> Tale:
    """By the job's sink, between run a and run b."""
    tale = rolled_back().becomes("a", "FINISHED").commits("z", guest)
    restored(tale, "b", began, of=of).commits("b", began + 1)
    return tale.forgets("a") if forgets else tale


@pytest.mark.parametrize("away", [timedelta(seconds=-4), timedelta(seconds=4)])
def test_a_commit_near_the_end_of_a_run_may_be_of_the_next(away: timedelta) -> None:
    """A commit bears another clock than Flink's. Run b went on from the target, and run c from its 4."""
    tale = rolled_back().flink_runs("b", restored=3).commits("b", 4)
    at = tale.now
    tale.becomes("b", "FINISHED").flink_runs("c", restored=4).forgets("a").forgets("b")
    tale.runs["c"] = tale.runs["c"].model_copy(update={"started_at": at + away})

    assert told_of(tale).sequel in {Sequel.OTHER_RUN, Sequel.UNTOLD}


@pytest.mark.parametrize(("began", "expected"), [(3, Sequel.OTHER_RUN), (7, Sequel.UNTOLD)])
def test_ids_that_main_had_already_explain_no_rollback(began: int, expected: Sequel) -> None:
    """A guest's, or those of a rewound run of which run b holds all that was read again: a later run tells."""
    assert expected is told_of(between(began)).sequel


@pytest.mark.parametrize("began", [3, 7])
def test_before_a_later_run_commits_they_leave_it_open(began: int) -> None:
    """One that was restored from the target reads all of it again, whoever came first."""
    tale = rolled_back().becomes("a", "FINISHED").commits("z", 2).flink_runs("b", restored=began).forgets("a")

    found = told_of(tale)

    assert (
        (Sequel.NOTHING_YET, True) == (found.sequel, found.is_rewound) if began == 3 else found.sequel is Sequel.UNTOLD
    )


def test_ids_that_main_had_already_hide_no_run_that_lost_some() -> None:
    """Run a itself goes on, and Flink is not seen."""
    assert Sequel.WENT_ON is told_of(rolled_back().commits("z", 2).commits("a", 8).flink_is_down()).sequel


@pytest.mark.parametrize(("of", "expected"), [("z", Sequel.OTHER_RUN), ("a", Sequel.UNTOLD)])
def test_the_path_of_a_restore_tells_whose_state_went_on(of: str, expected: Sequel) -> None:
    """Ids lead from the target to run b: by a run that it follows, or by a guest."""
    assert expected is told_of(between(7, of=of, guest=4)).sequel


def test_an_unlisted_run_after_a_listed_one_is_not_surely_the_jobs() -> None:
    """Flink forgets the oldest first."""
    assert Sequel.UNTOLD is told_of(between(7, of="z", guest=4, forgets=False)).sequel


@pytest.mark.parametrize("began", [3, 7])
def test_higher_ids_of_an_unlisted_run_accuse_nobody_that_was_restored_since(began: int) -> None:
    """A job that was restored from the target reads all of it again, but may have skipped it for a while."""
    expected = Sequel.UNTOLD if began == 3 else Sequel.WENT_ON

    assert expected is told_of(between(began, guest=20)).sequel


def test_a_run_beside_the_jobs_is_none_of_it() -> None:
    """It had committed between the job's commits, before main was rolled back."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).commits("z", 3).commits("a", 3, *range(13, 17))
    tale.becomes("a", "FINISHED").rolls_back_to("a", 3).commits("z", 4)
    tale.flink_runs("b", restored=16).commits("b", 17).forgets("a")

    assert (tale.at("b", 17), Sequel.WENT_ON) == (told_of(tale).next_commit, told_of(tale).sequel)


def test_a_commit_without_a_sink_is_none_of_a_job_that_names_one() -> None:
    """Older than Iceberg 1.2, as a guest's library may be."""
    tale = rolled_back().becomes("a", "FINISHED").commits("z", 4)
    nameless = {key: value for key, value in tale.snapshots[-1].summary.items() if key != "flink.operator-id"}
    tale.snapshots[-1] = tale.snapshots[-1].model_copy(update={"summary": nameless})
    tale.flink_runs("b", restored=7).commits("b", 8).forgets("a")

    assert Sequel.UNTOLD is told_of(tale).sequel


# ---------------------------------------------------------------------- under another uid


@pytest.mark.parametrize("ids", [range(4, 10), range(3, 10)], ids=["from the target", "from below it"])
def test_a_run_forgotten_between_two_accuses_no_right_rollback(ids: range) -> None:
    """Run b went on from the rewind under a new uid; Flink lists run a before it, and run c after it."""
    tale = rolled_back().becomes("a", "FINISHED").flink_runs("b", restored=ids[0] - 1)
    for checkpoint in ids:
        tale.commits("b", checkpoint).by_sink(NEW_UID)
    tale.becomes("b", "FINISHED").flink_runs("c", restored=9).forgets("b")
    tale.commits("c", 10).by_sink(OperatorId("cc" * 16))

    assert Sequel.UNTOLD is told_of(tale).sequel
    assert not isinstance(rolled_back_while_running.examine(tale.case()), Matches)


def test_ids_that_lead_on_are_no_jobs_that_committed_beside_it() -> None:
    """The guest's ids lead from the target to where run b began, but it had committed between run a's."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).commits("z", 3).by_sink(GUEST).commits("a", *range(3, 8))
    tale.becomes("a", "FINISHED").rolls_back_to("a", 3).commits("z", 4).by_sink(GUEST)
    tale.flink_runs("b", restored=7).commits("b", 8).forgets("a")

    assert Sequel.WENT_ON is told_of(tale).sequel


WHOLE = GapsFinding(lowest=0, highest=49, positions=50, missing=0, gaps=())


def went_on(run: str = "b") -> Tale:
    """Main went from 8 back to 3 while the job was down; the next commit carries 9, and a compaction came since."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 9)).becomes("a", "CANCELED").rolls_back_to("a", 3)
    return tale.flink_runs(run, restored=8).commits(run, 9, 10).commits(None, operation="replace").flink_is_down()


def looked_up_to(tale: Tale, until: SnapshotId, gaps: GapsFinding = WHOLE) -> Case:
    """`missing_positions` as it was asked then."""
    evidence = Evidence(
        verdict=Verdict.RULED_OUT, headline="None is missing.", id=EvidenceId("1"), task="missing_positions",
        task_version=1, question="?", metadata_location="v1.metadata.json", head=until,
        window=Window(since=None, until=until), at=tale.now, took_ms=1, bytes_read=0,
    )  # fmt: skip
    return tale.looked_at(gaps=gaps, evidence=(evidence,))


def test_positions_found_since_it_went_on_keep_ids_from_accusing() -> None:
    """They are to be looked for once more, and Flink is to be asked."""
    tale = went_on()

    found = rolled_back_while_running.examine(looked_up_to(tale, tale.at("b", 9)))

    assert isinstance(found, CannotTell)
    assert "Flink REST" in found.missing[0]
    assert "missing_positions, once more" in found.missing[1]


@pytest.mark.parametrize("before", ["its first commit", "the rollback"])
def test_what_was_found_before_says_nothing(before: str) -> None:
    """The hole came later."""
    tale = went_on()
    until = tale.at("a", 3) if before == "its first commit" else tale.at("a", 8)

    assert isinstance(rolled_back_while_running.examine(looked_up_to(tale, until)), Matches)


def test_nor_where_a_position_is_missing_or_to_come() -> None:
    """An old look that found a hole speaks for one."""
    tale = went_on()
    holes = [{"missing": 10, "positions": 40}, {"to_come": 10}]
    cases = [looked_up_to(tale, tale.at("b", 10), WHOLE.model_copy(update=hole)) for hole in holes]

    assert [Matches] * 2 == [type(rolled_back_while_running.examine(case)) for case in cases]


def test_a_run_that_lost_some_itself_knows_where_it_stood() -> None:
    """Its ids tell."""
    tale = went_on("a")

    assert isinstance(rolled_back_while_running.examine(looked_up_to(tale, tale.at("a", 9))), Matches)


def to_come(tale: Tale, positions: int = 10) -> Case:
    """Looked at: so many positions that main lost lie above every live one."""
    return tale.looked_at(gaps=hole(0).model_copy(update={"to_come": positions}))


def checkpoint_of(run: str, checkpoint: int) -> str:
    """The path of a retained checkpoint."""
    return f"s3://state/{job_id(run)}/chk-{checkpoint}"


def savepoint_of(run: str) -> str:
    """The path of a savepoint."""
    return f"s3://state/savepoint-{job_id(run)[:6]}-0123456789ab"


def is_accused(tale: Tale, run: str, target: tuple[str, int], *, may_wait: bool = False) -> bool:
    """Whether F6 names the run and the target, nothing says to wait, and an incident would begin there."""
    case, at = to_come(tale), tale.at(*target)
    found = rolled_back_while_running.examine(case)
    named = isinstance(found, Matches) and (found.last_good, found.wrong_run) == (at, job_id(run))
    waits = not may_wait and isinstance(flink_is_recovering.examine(case), Matches)
    return named and not waits and propose_window(tale.table, tale.jobs).trusted == at


def is_right(tale: Tale) -> bool:
    """Whether F6 is excluded and no rollback is suspected."""
    excluded = isinstance(rolled_back_while_running.examine(to_come(tale, 20)), Excluded)
    return excluded and "rolled back" not in propose_window(tale.table, tale.jobs).because


def upgraded() -> Tale:
    """Run a commits to 3 and is stopped with a savepoint; run b goes on from it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "FINISHED")
    return tale.flink_runs("b", restored=3).completes("b", 4)


@pytest.mark.parametrize("other", [None, "z"], ids=["a compaction", "a guest"])
def test_what_others_committed_since_an_upgrade_hides_no_rollback(other: str | None) -> None:
    """It is newer than the run's restore, and of no matter."""
    tale = upgraded()
    if other is None:
        tale.commits(None, operation="replace", rows=0)
    else:
        tale.commits(other, 1).by_sink(OperatorId("ee" * 16))

    assert is_accused(tale.rolls_back_to("a", 2), "b", ("a", 2))


def test_a_commit_that_the_restored_run_made_up_for_the_one_before_is_in_its_state() -> None:
    """It bears the id of the run that wrote the rows (facts 1.1), and is newer than the restore."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).completes("a", 3).becomes("a", "CANCELED")
    tale.flink_runs("b", restored=3).commits("a", 3).rolls_back_to("a", 2)

    assert is_accused(tale, "b", ("a", 2))


def counts_from_one_again() -> Tale:
    """Run b starts without state, commits its 1, and is upgraded to run c; main goes back to run a's 1."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED").flink_runs("b").commits("b", 1)
    tale.becomes("b", "FINISHED").flink_runs("c").came_from("c", 1, savepoint_of("b"))
    return tale.rolls_back_to("a", 1)


def brings_rows_again() -> Tale:
    """Run b is restored from 2, commits rows again with its 3, and is upgraded to run c; main goes back to run a's."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED").flink_runs("b")
    tale.came_from("b", 2, checkpoint_of("a", 2)).commits("b", 3).becomes("b", "FINISHED")
    return tale.flink_runs("c").came_from("c", 3, savepoint_of("b")).rolls_back_to("a", 3)


def test_an_id_that_main_has_too_is_judged_by_the_run_that_wrote_the_state() -> None:
    """While the run is silent, and by its next commit."""
    for began, target in ((counts_from_one_again(), 1), (brings_rows_again(), 3)):
        assert is_accused(began, "c", ("a", target))
        assert is_accused(began.commits("c", target + 1), "c", ("a", target))


def test_without_a_path_such_an_id_leaves_it_open() -> None:
    """Nobody knows whose state it was."""
    tale = brings_rows_again()
    point = tale.runs["c"].restored
    assert point is not None
    tale.runs["c"] = tale.runs["c"].model_copy(update={"restored": point.model_copy(update={"path": None})})

    assert isinstance(rolled_back_while_running.examine(to_come(tale)), CannotTell)
    assert not isinstance(flink_is_recovering.examine(to_come(tale)), Matches)


@pytest.mark.parametrize("checkpoint", [3, 4])
def test_copies_taken_off_leave_nothing_in_the_state_of_the_first_writer(checkpoint: int) -> None:
    """Run b had brought rows twice; main and job go back to where run a was."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).completes("a", 4).becomes("a", "CANCELED").flink_runs("b")
    tale.came_from("b", 2, checkpoint_of("a", 2)).commits("b", 3).becomes("b", "CANCELED").rolls_back_to("a", 3)
    tale.flink_runs("c").came_from("c", checkpoint, checkpoint_of("a", checkpoint))

    assert is_right(tale)


def test_a_state_is_followed_through_runs_that_committed_nothing() -> None:
    """Run c goes on from run b, which went on from what main lost, or from below it."""
    tale = upgraded().becomes("b", "FINISHED").flink_runs("c").came_from("c", 4, savepoint_of("b"))
    rewound = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED").rolls_back_to("a", 2)
    rewound.flink_runs("b", restored=2).completes("b", 3).becomes("b", "FINISHED")
    rewound.flink_runs("c").came_from("c", 3, savepoint_of("b"))

    assert is_accused(tale.rolls_back_to("a", 2), "c", ("a", 2))
    assert is_right(rewound)


# ---------------------------------------------------------------------- under one job id


def passes_over(*, v1: bool = False) -> Tale:
    """The run is restored from 1 under its id, below the 3 that main has, completes 2, and main is set back to 1."""
    tale = Tale().flink_runs("a", v1=v1).commits("a", 1, 2, 3).flink_runs("a", restored=1, v1=v1).completes("a", 2)
    tale.now += timedelta(seconds=10)
    return tale.rolls_back_to("a", 1)


def test_checkpoints_passed_over_before_the_rollback_are_lost() -> None:
    """The sink took them for committed (F3); whether silent, or by its next commit."""
    assert is_accused(passes_over(), "a", ("a", 1))
    assert is_accused(passes_over().commits("a", 3), "a", ("a", 1), may_wait=True)


def test_the_first_sink_keeps_what_it_passes_over() -> None:
    """`FlinkSink` commits it with the first id above what it found on main (facts 1.1)."""
    assert is_right(passes_over(v1=True))


def test_a_checkpoint_after_the_rollback_is_not_passed_over() -> None:
    """Its commit is under way: table and job were rewound together."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).rolls_back_to("a", 1)

    assert is_right(tale.flink_runs("a", restored=1).completes("a", 2))


def test_an_id_that_may_be_of_main_or_of_what_it_lost_leaves_it_open_for_a_run_of_which_alone_flink_knows() -> None:
    """Run c is restored from the 1 of run b, which began anew, and Flink shows no path; main goes back to the 1 of run
    a. By which sink the job commits is told by its graph."""
    tale = counts_from_one_again().forgets("a").forgets("b")
    point = tale.runs["c"].restored
    assert point is not None
    tale.runs["c"] = tale.runs["c"].model_copy(update={"restored": point.model_copy(update={"path": None})})

    assert isinstance(rolled_back_while_running.examine(to_come(tale)), CannotTell)
    assert not isinstance(flink_is_recovering.examine(to_come(tale)), Matches)


def test_a_checkpoint_of_its_own_does_not_tell_where_a_redeployed_run_began() -> None:
    """Run b went on from beyond the target; its first commit comes only once it was redeployed under its job id."""
    tale = upgraded().rolls_back_to("a", 2)
    tale.forgets("b").flink_runs("b").came_from("b", 4, checkpoint_of("b", 4)).commits("b", 4)

    found = rolled_back_while_running.examine(to_come(tale))

    assert isinstance(found, CannotTell)
    assert found.missing == ("the point from which run bbbbbb was first restored, which Flink no longer lists",)


def test_such_a_checkpoint_tells_it_where_main_lost_none_below() -> None:
    """Run b came from the target: its first checkpoint has the id of the first that main lost."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED").rolls_back_to("a", 2)
    tale.flink_runs("b").came_from("b", 3, checkpoint_of("b", 3)).commits("b", 3)

    assert isinstance(rolled_back_while_running.examine(to_come(tale)), Excluded)


def goes_on_right(tale: Tale) -> bool:
    """Whether F6 is excluded while rows are still to come, and no rollback is suspected."""
    case = tale.looked_at(gaps=hole(0).model_copy(update={"to_come": 10}))
    excluded = isinstance(rolled_back_while_running.examine(case), Excluded)
    return excluded and "rolled back" not in propose_window(tale.table, tale.jobs).because


@pytest.mark.parametrize("committed", [(2,), (2, 3, 4)])
@pytest.mark.parametrize("after", [0, 3])
def test_a_takeover_accuses_no_right_rewind(committed: tuple[int, ...], after: int) -> None:
    """Another JobManager starts the run anew from its own newest checkpoint: that tells nothing of where it began."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED").rolls_back_to("a", 1)
    tale.flink_runs("b", restored=1).commits("b", *committed).forgets("b")
    last = committed[-1]
    tale.now += timedelta(seconds=30)
    tale.flink_runs("b").came_from("b", last, f"s3://state/{job_id('b')}/chk-{last}")
    if after:
        tale.remembers("b", *range(last + 1, last + 1 + after)).commits("b", *range(last + 1, last + 1 + after))

    assert goes_on_right(tale)


@pytest.mark.parametrize("after", [(), (3, 4)], ids=["only that", "it has committed"])
def test_a_commit_under_the_id_of_the_run_that_the_restore_names_is_the_jobs(after: tuple[int, ...]) -> None:
    """Run b read 2 again and was upgraded before its commit, which run c makes; its cluster lists run c alone."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED").rolls_back_to("a", 1)
    tale.flink_runs("b", restored=1).completes("b", 2).flink_runs("c").forgets("a").forgets("b")
    tale.came_from("c", 2, f"s3://state/{job_id('b')}/chk-2").commits("b", 2)
    tale = tale.commits("c", *after) if after else tale

    assert goes_on_right(tale)


@pytest.mark.parametrize("after", [(), (5,)], ids=["only that", "it has committed"])
def test_such_a_commit_tells_of_a_hole_too(after: tuple[int, ...]) -> None:
    """Run b had gone on from 3, which main lost under it; run c makes its 4 up for it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "FINISHED").flink_runs("b", restored=3)
    tale.rolls_back_to("a", 2).completes("b", 4).flink_runs("c").forgets("a").forgets("b")
    tale.came_from("c", 4, f"s3://state/{job_id('b')}/chk-4").commits("b", 4)
    tale = tale.commits("c", *after) if after else tale

    assert isinstance(rolled_back_while_running.examine(tale.looked_at(missing=10)), Matches)
    assert tale.at("a", 2) == propose_window(tale.table, tale.jobs).trusted


def test_where_a_taken_over_run_left_the_first_id_out_its_next_accuses_nobody() -> None:
    """Checkpoint 2 of run b failed, and its 3, all that main lost again, is known by its id alone since a JobManager
    took over: the ids are those of a run that began beyond the target, too, and only positions tell."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED").rolls_back_to("a", 1)
    tale.flink_runs("b", restored=1).commits("b", 3).forgets("b")
    tale.now += timedelta(seconds=30)
    tale.flink_runs("b").came_from("b", 3, f"s3://state/{job_id('b')}/chk-3").forgets("a")

    assert isinstance(rolled_back_while_running.examine(tale.case()), CannotTell)
