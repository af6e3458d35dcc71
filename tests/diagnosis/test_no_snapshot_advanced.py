"""`no-advance`: the job stands still over a right table; and never over a wrong or unseen one."""

from datetime import timedelta

import pytest

from bot.diagnosis import no_snapshot_advanced as mode
from bot.domain.contract import TableContract
from bot.domain.diagnosis import CannotTell, Case, Excluded, Matches, Remedy
from bot.domain.evidence import Evidence, Verdict
from bot.domain.findings import LeakStanding, PairingFinding, PairVerdict
from bot.domain.flink import CheckpointKind, StoredCheckpoint
from bot.domain.ids import DRAINED, CheckpointId, EvidenceId
from bot.domain.looked import Seen
from bot.domain.table import Window
from tests.cases import NOON, Tale, job_id
from tests.found import files_twice, leaks, point, points


def given_up() -> Tale:
    """Three commits, and the run failed for good."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "FAILED")


def looping() -> Tale:
    """The run fails and restarts."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3).completes("a", 3).fails("a", times=3).becomes("a", "RESTARTING")


def forgotten() -> Tale:
    """The cluster knows no such job, and for longer than a sink is silent without rows nobody has committed."""
    return later(Tale().flink_runs("a").commits("a", 1, 2, 3).forgets("a"), minutes=10)


def counted_at(tale: Tale) -> Evidence:
    """No source position is missing, at the head as it is."""
    return Evidence(
        verdict=Verdict.RULED_OUT, headline="None is missing.", id=EvidenceId("1"), task="missing_positions",
        task_version=1, question="?", metadata_location=tale.table.metadata_location, head=tale.head,
        window=Window(since=None, until=tale.head), at=tale.now, took_ms=1, bytes_read=0,
    )  # fmt: skip


def later(tale: Tale, **passed: float) -> Tale:
    """So much time goes by."""
    tale.now += timedelta(**passed)
    return tale


@pytest.mark.parametrize(
    ("tale", "said"), [(given_up(), "is FAILED"), (looping(), "failed 3 times"), (forgotten(), "knows no run")]
)
def test_a_job_that_stands_still_is_recovered_without_the_table(tale: Tale, said: str) -> None:
    """Failed, looping or gone: the head is right, and the point that pairs with it is named."""
    pairing = points(point(job_id("a"), 3, tale.at("a", 3)))

    found = mode.examine(tale.looked_at(pairing=pairing))

    assert isinstance(found, Matches)
    assert (Remedy.RESTORE_JOB_ONLY, tale.head, None) == (found.remedy, found.last_good, found.wrong_run)
    assert said in found.reasons[0]
    assert Remedy.RESTORE_JOB_ONLY.words == found.what_to_do
    assert "s3://state/savepoint-aaaaaa-3" in found.reasons[-1]


@pytest.mark.parametrize(("begins", "said"), [(None, "right: "), (1, "right from …001001 on: ")])
def test_the_table_is_called_right_no_further_down_than_it_was_looked_at(begins: int | None, said: str) -> None:
    """A window says nothing of what lies below it."""
    tale = given_up()

    found = mode.examine(tale.looked_at(since=None if begins is None else tale.at("a", begins)))

    assert isinstance(found, Matches)
    assert f"and the table is {said}recover the job" in found.headline


def test_nor_further_down_than_commits_are_listed() -> None:
    """The first has expired: its rows were looked at by nobody."""
    found = mode.examine(given_up().expires("a", 1).looked_at())

    assert isinstance(found, Matches)
    assert "the table is right from …002002 on" in found.headline


def test_a_point_ahead_of_the_head_commits_what_it_owes() -> None:
    """Newer than any commit is not too new: the sink commits at the restore."""
    pairing = points(point(job_id("a"), 4, None, PairVerdict.AHEAD))

    found = mode.examine(given_up().looked_at(pairing=pairing))

    assert isinstance(found, Matches)
    assert Remedy.RESTORE_JOB_ONLY is found.remedy


def test_an_older_point_alone_takes_the_table_along() -> None:
    """Restored from 2 against checkpoint 3 the job would write rows twice."""
    tale = given_up()

    found = mode.examine(tale.looked_at(pairing=points(point(job_id("a"), 2, tale.at("a", 2)))))

    assert isinstance(found, Matches)
    assert (Remedy.REWIND_TABLE_AND_JOB, job_id("a")) == (found.remedy, found.wrong_run)


def kept(run: str, checkpoint: int) -> StoredCheckpoint:
    """A retained checkpoint."""
    return StoredCheckpoint(
        path=f"s3://state/{job_id(run)}/chk-{checkpoint}",
        kind=CheckpointKind.CHECKPOINT,
        checkpoint_id=CheckpointId(checkpoint),
        job_id=job_id(run),
        written_at=NOON + timedelta(minutes=checkpoint),
    )


def beside_others() -> Tale:
    """Another engine has written the table, and the job's run begins."""
    return Tale().commits(None).flink_runs("a")


def test_a_job_whose_commits_pyiceberg_may_have_taken_out_is_not_said_to_have_none() -> None:
    """What is left has no parent's id, and counts rows that it did not bring."""
    tale = beside_others().counts(total_records=40).fails("a").becomes("a", "FAILED")

    assert not isinstance(mode.examine(tale.case()), Matches)


def test_a_job_that_failed_before_its_first_checkpoint_owes_the_table_nothing() -> None:
    """Nobody has to look at a row for that, and what others wrote stays as it is."""
    tale = beside_others().fails("a").becomes("a", "FAILED")

    found = mode.examine(tale.case())

    assert isinstance(found, Matches)
    assert "has never committed to this table, and run aaaaaa is FAILED" in found.headline
    assert (Remedy.RESTORE_JOB_ONLY, tale.head) == (found.remedy, found.last_good)
    assert "owes the table nothing" in found.reasons[2]
    assert found.reasons[-1] == "Flink says: java.io.IOException: lost."
    assert found.what_to_do.endswith("as it is deployed: it has no state yet")


def test_a_job_that_never_committed_goes_on_from_its_newest_checkpoint() -> None:
    """From nothing it would leave behind what its committer owes."""
    tale = beside_others().completes("a", 1, 2).leaves_manifest("a", 1, 2).becomes("a", "FAILED")
    case = tale.case()
    points = (kept("a", 1), kept("a", 2), kept("b", 7))
    seen = Seen[StoredCheckpoint](source="the folder of checkpoints", values=points)
    with_them = case.model_copy(update={"observation": case.observation.model_copy(update={"checkpoints": seen})})

    found = mode.examine(with_them)

    assert isinstance(found, Matches)
    assert found.what_to_do.endswith(f"start it by hand from {points[1].path}")
    assert isinstance(mode.examine(case), CannotTell)


@pytest.mark.parametrize(
    "tale",
    [
        beside_others().becomes("a", "FINISHED"),
        Tale().flink_runs("z").commits("z", 1).forgets("z").flink_runs("a").becomes("a", "FAILED"),
        Tale().commits("z", 1).commits(None).expires("z", 1).flink_runs("a").becomes("a", "FAILED"),
    ],
    ids=["its end", "commits by a forgotten run", "commits that expired"],
)
def test_a_job_that_may_have_committed_is_not_told_to_begin_anew(tale: Tale) -> None:
    """From nothing it would repeat what was read before."""
    assert not isinstance(mode.examine(tale.case()), Matches)


@pytest.mark.parametrize(
    ("pairing", "said"),
    [
        (points(), "holds no restore point that"),
        (points(point(job_id("a"), 4, None, PairVerdict.BEHIND)), "None of 1 restore point on storage"),
    ],
)
def test_without_a_point_that_fits_it_says_so(pairing: PairingFinding, said: str) -> None:
    """No table state goes with any, so nothing "goes together"; the source's position is what is left."""
    found = mode.examine(given_up().looked_at(pairing=pairing))

    assert isinstance(found, Matches)
    assert (Remedy.RESTORE_JOB_ONLY, None) == (found.remedy, found.wrong_run)
    assert found.headline.endswith("but no restore point is left from which the job could go on.")
    assert said in found.reasons[-1]
    assert found.what_to_do.startswith("find a restore point elsewhere, as none that was found fits the table")
    assert "its source set to go on after what the table holds" in found.reasons[-1]
    assert not any("go together" in reason for reason in found.reasons)


@pytest.mark.parametrize(
    ("tale", "said"),
    [(given_up(), "after position 99, the highest on the table"), (looping(), "after what the table holds")],
    ids=["down", "alive"],
)
def test_a_position_is_named_only_where_none_higher_can_come(tale: Tale, said: str) -> None:
    """A run that only fails may still commit what it owes; nothing is known of a head that nobody has looked at."""
    case = tale.looked_at(pairing=points(), evidence=(counted_at(tale),))
    found, unknown = mode.examine(case), mode.examine(case.model_copy(update={"evidence": ()}))

    assert isinstance(found, Matches)
    assert isinstance(unknown, Matches)
    assert said in " ".join(found.reasons)
    assert "the highest on the table" not in " ".join(unknown.reasons)


def test_before_anybody_looked_no_restore_point_is_promised() -> None:
    """What to do is to look first; once a point is known, the remedy's own words are true."""
    found = mode.examine(given_up().looked_at())

    assert isinstance(found, Matches)
    assert found.what_to_do.startswith("look which restore point")
    assert "newest restore point" not in found.what_to_do


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (given_up().looked_at(duplicates=3), "keys live more than once"),
        (given_up().looked_at(missing=3), "are missing"),
        (Tale().flink_runs("a").commits("a", 1, DRAINED).becomes("a", "FINISHED").looked_at(), "F5"),
        (given_up().misses_manifest("a", "a", 4).looked_at(), "F7, F8, F9"),
    ],
)  # fmt: skip
def test_a_wrong_table_is_never_left_to_the_job(case: Case, said: str) -> None:
    """Whatever is wrong with rows or history is named instead."""
    found = mode.examine(case)

    assert isinstance(found, Excluded)
    assert said in found.reason


def test_a_hole_is_never_left_to_the_job() -> None:
    """A rollback under the running job: before positions were counted nobody knows, without any it is wrong."""
    tale = (
        Tale().flink_runs("a").commits("a", *range(1, 6)).rolls_back_to("a", 3).commits("a", 6).becomes("a", "FAILED")
    )
    uncounted = tale.looked_at(gaps=None)
    unnamed = uncounted.model_copy(update={"contract": TableContract(key=("id",))})

    assert isinstance(mode.examine(uncounted), CannotTell)
    assert isinstance(mode.examine(unnamed), Excluded)


def test_dropped_rows_are_never_left_to_the_job() -> None:
    """A restart would not read them again."""
    tale = given_up().leaves_manifest("a", 2)

    found = mode.examine(tale.looked_at(leaked=leaks(*tale.manifests, standing=LeakStanding.DROPPED)))

    assert isinstance(found, Excluded)


@pytest.mark.parametrize("lacks", ["duplicates", "gaps", "leaked", "unreadable"])
def test_the_table_is_not_called_right_before_it_was_looked_at(lacks: str) -> None:
    """Each source may show what the others do not."""
    case = given_up().looked_at().model_copy(update={lacks: None})

    found = mode.examine(case)

    assert isinstance(found, CannotTell)
    assert 1 == len(found.missing)


def test_a_run_that_is_alive_does_not_stand_still() -> None:
    """Running, or restarting for the first time: see `wait`."""
    running = Tale().flink_runs("a").commits("a", 1, 2)

    assert isinstance(mode.examine(running.looked_at()), Excluded)
    assert isinstance(mode.examine(running.fails("a").becomes("a", "RESTARTING").looked_at()), Excluded)


def test_flink_must_be_asked() -> None:
    """A table that does not advance may have a job that runs."""
    assert isinstance(mode.examine(given_up().flink_is_down().looked_at()), CannotTell)


def test_files_that_are_live_twice_are_never_left_to_the_job() -> None:
    """Evidence that was not asked for but is there counts, too."""
    tale = given_up()

    found = mode.examine(tale.looked_at(duplicate_files=files_twice(10, tale.at("a", 2), tale.at("a", 3))))

    assert isinstance(found, Excluded)
