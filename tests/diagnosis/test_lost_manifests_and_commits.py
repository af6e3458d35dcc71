"""F7, F8 and F9: the restart fails for a Flink manifest, and what became of its commit tells them apart."""

import pytest

from bot.diagnosis import cleanup_deleted_files, last_commit_expired, restore_misses_flink_manifest
from bot.domain.diagnosis import CannotTell, Case, Excluded, Matches, Remedy
from bot.domain.findings import LastCommit
from bot.domain.ids import CheckpointId
from tests.cases import OPERATOR, Tale, job_id
from tests.found import point, points, retention

f7, f8, f9 = restore_misses_flink_manifest, last_commit_expired, cleanup_deleted_files


def rolled_back(*, in_cause: bool = False) -> Tale:
    """As run on Flink 1.20.3: rolled back to 3 under the running job, then a failover that looks for 9."""
    tale = Tale().flink_runs("a", v1=True).commits("a", *range(1, 10)).rolls_back_to("a", 3)
    return tale.flink_runs("a", restored=9, v1=True, state="RESTARTING").misses_manifest(
        "a", "a", 9, times=3, in_cause=in_cause
    )


def expired() -> Tale:
    """E of the experiments: another engine appended, maintenance kept one snapshot, the job failed over."""
    tale = Tale().flink_runs("a", v1=True).commits("a", 1, 2, 3).commits(None).expires("a", 1, 2, 3)
    return tale.flink_runs("a", restored=3, v1=True, state="RESTARTING").misses_manifest("a", "a", 3, times=3)


def cleaned_up() -> Tale:
    """A cleanup took the manifest of checkpoint 4 before it was committed."""
    tale = Tale().flink_runs("a", v1=True).commits("a", 1, 2, 3).completes("a", 4)
    return tale.flink_runs("a", restored=4, v1=True, state="RESTARTING").misses_manifest("a", "a", 4, times=3)


@pytest.mark.parametrize(("tale", "which"), [(rolled_back(), f7), (expired(), f8), (cleaned_up(), f9)])
def test_one_symptom_has_one_cause(tale: Tale, which: object) -> None:
    """Rolled back: F7. No snapshot of the run is listed: F8. Older ones on main, and no rollback: F9."""
    case = tale.looked_at()

    found = [mode for mode in (f7, f8, f9) if isinstance(mode.examine(case), Matches)]

    assert [which] == found


@pytest.mark.parametrize("in_cause", [False, True])
def test_the_file_is_told_by_the_exception_or_by_its_cause(in_cause: bool) -> None:
    """Flink often wraps what the sink threw."""
    found = f7.examine(rolled_back(in_cause=in_cause).looked_at())

    assert isinstance(found, Matches)
    assert "3 times since its last checkpoint" in found.reasons[0]


def test_a_rollback_with_nothing_on_top_is_put_back() -> None:
    """The head returns to the commit that the state expects; the lost commits are the rows."""
    tale = rolled_back()

    found = f7.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert (Remedy.RESTORE_LOST_COMMITS, tale.at("a", 3), None) == (found.remedy, found.last_good, found.wrong_run)
    assert {tale.at("a", c) for c in range(4, 10)} == set(found.rows)


def test_a_point_that_pairs_with_the_head_spares_the_table() -> None:
    """The job goes back to the rolled-back head, and reads the rest again."""
    tale = rolled_back()

    found = f7.examine(tale.looked_at(pairing=points(point(job_id("a"), 3, tale.at("a", 3)))))

    assert isinstance(found, Matches)
    assert Remedy.FORWARD_JOB is found.remedy


def test_commits_on_top_of_the_rollback_leave_only_the_rewind() -> None:
    """Set back, the head would lose what another run committed; the run that fails came from the wrong state."""
    tale = Tale().flink_runs("a", v1=True).commits("a", *range(1, 10)).becomes("a", "FINISHED").rolls_back_to("a", 3)
    tale.flink_runs("b", restored=3, v1=True).commits("b", 4, 5).becomes("b", "CANCELED")
    tale.flink_runs("c", restored=9, v1=True, state="RESTARTING").misses_manifest("c", "a", 9)

    found = f7.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert (Remedy.REWIND_TABLE_AND_JOB, tale.head, job_id("c")) == (
        found.remedy,
        found.last_good,
        found.wrong_run,
    )


def test_a_manifest_that_is_listed_shows_an_outage() -> None:
    """The file is there: whoever restores the head now would undo a rollback for nothing."""
    tale = rolled_back()
    name = tale.runs["a"].failures[0].message.rsplit("/", 1)[-1]
    tale.leaves_manifest("a", 9)
    tale.manifests[-1] = tale.manifests[-1].model_copy(update={"path": f"s3://lake/sales/orders/metadata/{name}"})

    found = f7.examine(tale.looked_at())

    assert isinstance(found, Excluded)
    assert "storage was out" in found.reason


def test_a_listed_manifest_was_not_cleaned_up() -> None:
    """F9 needs the listing: with the file there it was an outage, and without a listing nobody knows."""
    tale = cleaned_up()
    path = tale.runs["a"].failures[0].message.rsplit(" ", 1)[-1]
    tale.leaves_manifest("a", 4)
    tale.manifests[-1] = tale.manifests[-1].model_copy(update={"path": path})
    blind = cleaned_up()
    blind.storage_down = True

    assert isinstance(f9.examine(tale.looked_at()), Excluded)
    assert isinstance(f9.examine(blind.looked_at()), CannotTell)


@pytest.mark.parametrize("tale", [rolled_back(), expired(), cleaned_up()])
def test_a_completed_checkpoint_ends_it(tale: Tale) -> None:
    """Failures from before it are history."""
    case = tale.completes("a", 12).looked_at()

    assert [] == [mode for mode in (f7, f8, f9) if not isinstance(mode.examine(case), Excluded)]


def test_a_file_that_flink_does_not_name_is_not_guessed() -> None:
    """A cut message leaves open which file it was."""
    tale = rolled_back()
    thrown = tale.runs["a"].failures[0].model_copy(update={"message": "NotFoundException: Failed to open input s"})
    tale.runs["a"] = tale.runs["a"].model_copy(update={"failures": (thrown,)})

    found = f7.examine(tale.looked_at())

    assert isinstance(found, CannotTell)
    assert "the name of the file" in found.missing[0]


def last(snapshot: int | None, *, expires_within_s: float | None = None) -> LastCommit:
    """Run `a`'s newest commit as retention sees it."""
    return LastCommit.model_validate(
        {
            "job_id": job_id("a"),
            "operator_id": OPERATOR,
            "snapshot_id": snapshot,
            "checkpoint_id": CheckpointId(3),
            "is_protected": False,
            "expires_within_s": expires_within_s,
        }
    )


def unlisted(state: str) -> Case:
    """Run `a` has committed, and the metadata lists nothing of it; it has not failed."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).commits(None).expires("a", 1, 2, 3)
    return tale.becomes("a", state).looked_at(table_health=retention(last(None)))


@pytest.mark.parametrize(
    ("state", "remedy"), [("RUNNING", Remedy.PROTECT_LAST_COMMIT), ("FAILED", Remedy.CHANGE_OPERATOR_UID)]
)
def test_an_expired_last_commit_is_cured_by_what_the_run_does(state: str, remedy: Remedy) -> None:
    """A run that goes on commits again, and that commit is to be protected; one that stands cannot be restored."""
    found = f8.examine(unlisted(state))

    assert isinstance(found, Matches)
    assert remedy is found.remedy


def test_a_last_commit_that_may_be_expired_soon_is_told() -> None:
    """Not yet the fault, but the reader should tag it today."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)

    found = f8.examine(tale.looked_at(table_health=retention(last(tale.at("a", 3), expires_within_s=7200))))

    assert isinstance(found, Excluded)
    assert "in 2.0 hours: tag it" in found.reason


def test_a_run_without_snapshots_is_not_judged_before_retention_was_looked_at() -> None:
    """It may be brand-new."""
    tale = Tale().flink_runs("a").commits(None)

    assert isinstance(f8.examine(tale.case()), CannotTell)
    assert isinstance(f8.examine(tale.looked_at()), Excluded)


def test_a_manifest_deleted_in_flight_is_read_again_from_a_point_that_pairs() -> None:
    """Its rows never reached the table, so the head is right and only the job goes back."""
    tale = cleaned_up()

    found = f9.examine(tale.looked_at(pairing=points(point(job_id("a"), 3, tale.at("a", 3)))))

    assert isinstance(found, Matches)
    assert (Remedy.FORWARD_JOB, tale.head, None) == (found.remedy, found.last_good, found.wrong_run)


def test_without_a_point_to_go_to_the_source_is_read_again() -> None:
    """Looked, and none pairs anywhere on main."""
    found = f9.examine(cleaned_up().looked_at(pairing=points()))

    assert isinstance(found, Matches)
    assert Remedy.REPLAY_SOURCE_RANGE is found.remedy
