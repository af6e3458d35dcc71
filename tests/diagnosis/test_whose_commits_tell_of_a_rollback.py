"""Main was rolled back, and commits above it are the job's or a guest's: what tells them apart, and what leaves it
open."""

from datetime import timedelta

import pytest

from bot.diagnosis import rolled_back_while_running
from bot.domain.diagnosis import CannotTell, Excluded, Matches
from bot.domain.ids import OperatorId
from bot.domain.rollbacks import Rollback, Sequel, rollbacks
from bot.domain.suspicion import propose_window
from tests.cases import Tale, job_id
from tests.diagnosis.test_rolled_back_beside_guests import GUEST, NEW_UID, rolled_back


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
    tale = rolled_back().commits("z", 2).commits("a", 8).flink_is_down()

    assert Sequel.WENT_ON is told_of(tale).sequel


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
