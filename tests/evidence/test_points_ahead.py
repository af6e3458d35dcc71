"""What evidence says of a restore point that is newer than all its run committed, and not right above main's end."""

from typing import cast

import pytest
from pyspark.sql import SparkSession

from bot.domain.contract import TableContract
from bot.domain.evidence import Answer, Ask, Verdict
from bot.domain.findings import PairingFinding, PairVerdict, RecoveryExtentFinding
from bot.domain.flink import CheckpointKind, StoredCheckpoint
from bot.domain.looked import Seen
from spark_tasks import checkpoint_pairing, recovery_extent
from tests.cases import Tale, job_id
from tests.evidence.restore_points import stored

NO_SPARK = cast(SparkSession, None)
"""Nothing pairs, so no file is read."""


def owing(tale: Tale, checkpoint: int = 10) -> Ask:
    """Run a has left a retained checkpoint that owes its own files, which are on storage."""
    waits = tale.leaves_manifest("a", checkpoint).manifests[-1].path.rpartition("/")[2]
    point = stored(job_id("a"), checkpoint, CheckpointKind.CHECKPOINT, owes=())
    there = point.model_copy(update={"written_at": tale.now, "pending_manifests": (waits,)})
    case, seen = tale.case(), Seen[StoredCheckpoint](source="the checkpoint folder", values=(there,))
    observation = case.observation.model_copy(update={"checkpoints": seen})
    return Ask(observation=observation, window=case.window, contract=TableContract(key=("id",)))


def committed() -> Tale:
    """Run a commits 1 to 9, and fails."""
    return Tale().flink_runs("a").commits("a", *range(1, 10)).completes("a", 10).becomes("a", "FAILED")


def extent(ask: Ask) -> tuple[Answer, RecoveryExtentFinding]:
    """What `recovery_extent` answers."""
    answer = recovery_extent.answer(NO_SPARK, ask)
    assert isinstance(answer.finding, RecoveryExtentFinding)
    return answer, answer.finding


def pairing_says(ask: Ask) -> str:
    """The reason that `checkpoint_pairing` gives for the one point, which is ahead."""
    answer = checkpoint_pairing.answer(NO_SPARK, ask)
    assert isinstance(answer.finding, PairingFinding)
    [pair] = answer.finding.pairings
    assert pair.verdict is PairVerdict.AHEAD
    assert pair.reason == answer.rows[0][-1]
    return pair.reason


@pytest.mark.parametrize(
    ("to", "lost"),
    [(3, "6 of these commits, …004004 to …009009,"), (8, "1 of these commits, …009009,")],
    ids=["six", "one"],
)
def test_job_and_table_do_not_come_together_over_commits_that_main_has_lost(to: int, lost: str) -> None:
    """A start by hand would lose what lies between, and nobody would see it."""
    ask = owing(committed().rolls_back_to("a", to))

    answer, found = extent(ask)

    assert answer.verdict is Verdict.RULED_OUT
    [reach] = found.points
    assert not reach.brings_back
    assert f"main has lost {lost} which this state has behind it" in reach.cannot[0]
    assert "does not bring their rows again" in pairing_says(ask)
    assert "commits it first" not in pairing_says(ask)


def test_below_the_first_commit_of_the_run_they_are_lost_as_well() -> None:
    """Main ends with an older run's commit; no run has gone on since."""
    tale = Tale().flink_runs("z").commits("z", 1).becomes("z", "CANCELED")
    tale.flink_runs("a").commits("a", 7, 8, 9).becomes("a", "FAILED").rolls_back_to("z", 1)

    assert "main has lost 3 of these commits" in pairing_says(owing(tale))


def test_what_another_run_has_committed_since_would_come_twice() -> None:
    """Also where that run has read again what main had lost: then nothing is missing, and all of it would be double."""
    tale = committed().rolls_back_to("a", 3).flink_runs("b", restored=3).commits("b", 4, 5).becomes("b", "FAILED")
    ask = owing(tale)

    answer, found = extent(ask)

    assert answer.verdict is Verdict.RULED_OUT
    assert "run bbbbbb has gone on since: …011011, its checkpoint 5, is on main" in found.points[0].cannot[0]
    assert "a second time" in pairing_says(ask)


def test_a_run_that_has_counted_anew_under_its_id_tells_nothing() -> None:
    """Its newest commit on main does not carry the highest id that is listed (F14)."""
    tale = committed().rolls_back_to("a", 3).commits("a", 4, 5)

    assert "not its newest on main" in pairing_says(owing(tale, 12))


def test_right_above_the_end_of_main_they_do() -> None:
    """Nothing was lost and nobody has gone on: the sink commits first what the state owes."""
    ask = owing(committed())

    answer, found = extent(ask)

    assert (answer.verdict, found.points[0].cannot) == (Verdict.CONFIRMED, ())
    assert "commits it first" in pairing_says(ask)
