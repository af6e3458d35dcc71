"""A sink that was silent for too long may have committed what is listed no more: such a point does not pair, unless
something explains the silence."""

import pytest

from bot.domain.findings import PairVerdict
from bot.domain.flink import CheckpointKind
from bot.domain.ids import OperatorId
from tests.cases import Tale, job_id
from tests.evidence.restore_points import judged, stored
from tests.evidence.test_gone_commits import set_back, untold, verdict
from tests.evidence.test_sinks import DYNAMIC


@pytest.mark.parametrize("owes", [(), (20,), (19, 20)], ids=["nothing", "itself", "two"])
def test_a_point_far_above_the_newest_listed_commit_does_not_pair(owes: tuple[int, ...]) -> None:
    """Even without files the sink would have committed one of the checkpoints between."""
    assert verdict(set_back(*range(4, 19)), 20, *owes) is PairVerdict.UNPAIRABLE


def test_it_is_said_why() -> None:
    """With the ids and the setting that the rule stands on."""
    tale = untold(Tale().flink_runs("a").commits("a", 1, 2, 3))

    found = judged(stored(job_id("a"), 20, owes=()), tale.table, *tale.runs.values())

    assert "listed up to checkpoint 3, and of checkpoints 4 to 20" in found.reason
    assert "`flink.max-continuous-empty-commits`: 10" in found.reason
    assert found.reason.endswith("may have been lost and expired, or gone as the catalog was set back.")


@pytest.mark.parametrize(("checkpoint", "found"), [(14, PairVerdict.PAIRED), (15, PairVerdict.UNPAIRABLE)])
def test_the_sink_is_silent_for_as_long_as_the_table_allows(checkpoint: int, found: PairVerdict) -> None:
    """Ten without files in a row, and the newest may be on its way."""
    assert verdict(untold(Tale().flink_runs("a").commits("a", 1, 2, 3)), checkpoint) is found


def test_after_a_failover_it_counts_anew() -> None:
    """Eight without files, a failover, six more: the sink began again at nothing."""
    tale = untold(Tale().flink_runs("a").commits("a", 1, 2, 3)).flink_runs("a", restored=11)

    assert verdict(tale, 17) is PairVerdict.PAIRED


def test_the_sink_is_silent_for_no_longer_before_a_failover_either() -> None:
    """What Flink restored was as far above the newest listed commit."""
    tale = untold(Tale().flink_runs("a").commits("a", 1, 2, 3)).flink_runs("a", restored=21)

    assert verdict(tale, 25) is PairVerdict.UNPAIRABLE


def test_where_no_number_is_missing_the_distance_tells_all_the_same() -> None:
    """A catalog that was set back to an older metadata file has its sequence numbers set back too."""
    assert verdict(Tale().flink_runs("a").commits("a", 1, 2, 3), 21) is PairVerdict.UNPAIRABLE


def test_what_flink_has_forgotten_is_not_accused_by_the_distance_where_no_number_is_missing() -> None:
    """A restore, a failed checkpoint or another kind of sink may explain the silence, and nobody tells any more: an
    application's cluster goes with its job, which has to come back."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).forgets("a")

    assert verdict(tale, 90) is PairVerdict.PAIRED
    assert verdict(untold(tale), 90) is PairVerdict.UNPAIRABLE


@pytest.mark.parametrize(("restores", "found"), [(1, PairVerdict.UNPAIRABLE), (2, PairVerdict.PAIRED)])
def test_restores_that_flink_counts_and_tells_no_more_explain_silence(restores: int, found: PairVerdict) -> None:
    """After each the sink counts anew; only the newest is told, here at 19."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).flink_runs("a", restored=19)
    tale.runs["a"] = tale.runs["a"].model_copy(update={"restored_count": restores})

    assert verdict(tale, 24) is found


@pytest.mark.parametrize(("failed", "found"), [(3, PairVerdict.UNPAIRABLE), (12, PairVerdict.PAIRED)])
def test_failed_checkpoints_that_flink_counts_and_lists_no_more_explain_silence(
    failed: int, found: PairVerdict
) -> None:
    """Its history holds ten."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    tale.runs["a"] = tale.runs["a"].model_copy(update={"failed_count": failed})

    assert verdict(tale, 24) is found


def test_failed_checkpoints_from_before_all_that_flink_lists_explain_nothing_there() -> None:
    """It lists 104 to 123 as completed, without a commit: the thirty that failed lie below."""
    tale = Tale().flink_runs("a").commits("a", 101, 102, 103).completes("a", *range(101, 124))
    tale.runs["a"] = tale.runs["a"].model_copy(update={"failed_count": 30})

    assert verdict(tale, 124) is PairVerdict.UNPAIRABLE


@pytest.mark.parametrize(("v1", "found"), [(True, PairVerdict.PAIRED), (False, PairVerdict.UNPAIRABLE)])
def test_savepoints_between_are_none_to_a_v1_sink(v1: bool, found: PairVerdict) -> None:
    """It is not notified of them, so that they are not counted; IcebergSink commits each by itself."""
    tale = Tale().flink_runs("a", v1=v1).commits("a", 1, 2, 3).completes("a", *range(8, 14))
    taken = tuple(c.model_copy(update={"kind": CheckpointKind.SAVEPOINT}) for c in tale.runs["a"].checkpoints)
    tale.runs["a"] = tale.runs["a"].model_copy(update={"checkpoints": taken})

    assert verdict(tale, 20) is found


def test_the_table_may_allow_more() -> None:
    """Its property says so."""
    tale = untold(Tale().flink_runs("a").commits("a", 1, 2, 3))
    tale.properties["flink.max-continuous-empty-commits"] = "30"

    assert verdict(tale, 20) is PairVerdict.PAIRED


def test_checkpoints_that_failed_are_none_to_the_sink() -> None:
    """Twelve of them came between, so that six passed without files."""
    tale = untold(Tale().flink_runs("a").commits("a", 1, 2, 3))
    tale.completes("a", *range(4, 16))
    failed = tuple(c.model_copy(update={"status": "FAILED"}) for c in tale.runs["a"].checkpoints)
    tale.runs["a"] = tale.runs["a"].model_copy(update={"checkpoints": failed})

    assert verdict(tale, 21) is PairVerdict.PAIRED


def test_a_dynamic_sink_is_silent_for_as_long_as_no_row_comes() -> None:
    """It never commits without files."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    run = tale.runs["a"]
    sink = run.vertices[1].model_copy(update={"name": DYNAMIC, "vertex_id": OperatorId("bb" * 16)})
    tale.runs["a"] = run.model_copy(update={"vertices": (run.vertices[0], sink)})

    assert verdict(tale, 90) is PairVerdict.PAIRED
