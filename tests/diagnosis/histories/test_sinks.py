"""The sinks of the made-up histories keep the rules of the real ones, as they were seen on real clusters."""

from random import Random

import pytest

from bot.observation.flink import CheckpointKind
from bot.observation.ids import DRAINED, OperatorId
from tests.diagnosis.histories import accidents, operators
from tests.diagnosis.histories.history import History, Setting
from tests.diagnosis.histories.truth import truth_of


def _history(sink: str) -> History:
    """Three checkpoints with two rows each are committed."""
    setting = Setting(sink="V1") if sink == "V1" else Setting()
    history = History(setting, Random(1))  # noqa: S311 - a seed that can be given again
    for _ in range(3):
        history.job.reads(2)
    return history


def _committed(history: History) -> list[int | None]:
    return [s.checkpoint_id for s in history.table.chain]


@pytest.mark.parametrize(("sink", "committed"), [("V1", [1, 2, 3, 5]), ("V2", [1, 2, 3, 4, 5])])
def test_an_intermediate_savepoint_is_committed_with_the_next_checkpoint(sink: str, committed: list[int]) -> None:
    """The V1 sink puts both into one commit, the V2 sink makes two."""
    history = _history(sink)

    history.job.reads(2, kind=CheckpointKind.SAVEPOINT)
    history.job.reads(2)

    assert committed == _committed(history)
    assert not truth_of(history).is_wrong


@pytest.mark.parametrize("sink", ["V1", "V2"])
def test_a_rollback_under_a_running_job_is_a_hole(sink: str) -> None:
    """The job goes on above, and nothing fails."""
    history = _history(sink)

    history.table.is_set_to(history.table.chain[1].snapshot_id)
    history.job.reads(2)

    assert {4, 5} == truth_of(history).lost
    assert history.job.can_go_on


@pytest.mark.parametrize("sink", ["V1", "V2"])
def test_a_restore_looks_for_the_manifest_of_what_main_has_lost(sink: str) -> None:
    """A savepoint in between keeps what the sink had not committed then; once it is, its manifest is gone."""
    history = _history(sink)
    history.job.reads(2, is_committed=False)
    point = history.job.points[-1]
    history.job.reads(2)

    history.table.is_set_to(history.table.chain[2].snapshot_id)
    history.job.starts(point)

    assert history.job.is_stuck


def test_a_v2_sink_discards_what_main_seems_to_have_under_its_job_id() -> None:
    """And leaves the manifests behind; the first checkpoint above the old maximum is committed again."""
    history = _history("V2")
    history.job.starts(history.job.points[0], keeps_id=True)
    history.job.checkpoint = 1

    for _ in range(3):
        history.job.reads(3)

    assert [1, 2, 3, 4] == _committed(history)
    assert [2, 3] == [written.checkpoint for written in history.sink.manifests.values()]


def test_a_v1_sink_withholds_until_it_is_above_the_old_maximum() -> None:
    """Then all comes in one commit: what main had already comes twice."""
    history = _history("V1")
    history.job.starts(history.job.points[0])

    history.job.reads(2)
    history.job.reads(2)
    withheld = _committed(history)
    history.job.reads(2)

    assert [1, 2, 3] == withheld
    assert [1, 2, 3, 4] == _committed(history)
    assert {2, 3, 4, 5} == truth_of(history).doubled


@pytest.mark.parametrize("sink", ["V1", "V2"])
def test_the_right_recipe_loses_and_doubles_nothing(sink: str) -> None:
    """Stop, roll back, start from the checkpoint that main then ends with."""
    history = _history(sink)

    operators.rewinds(history)
    history.job.reads(2)

    assert not truth_of(history).is_wrong
    assert history.job.can_go_on


def test_a_drained_v1_sink_never_commits_again_before_its_state_is_anothers() -> None:
    """And a V2 sink goes on (facts 0.6, 1.2)."""
    v1, v2 = _history("V1"), _history("V2")
    for history in (v1, v2):
        accidents.drains(history)
        history.job.reads(2)

    assert [1, 2, 3, DRAINED] == _committed(v1)
    assert {truth_of(v1).lost} != {frozenset()}
    assert [1, 2, 3, 4, 5] == _committed(v2)
    assert not truth_of(v2).is_wrong


@pytest.mark.parametrize("sink", ["V1", "V2"])
def test_what_a_checkpoint_owes_is_lost_with_the_uid_of_the_sink(sink: str) -> None:
    """Its state is not restored then (facts 1.1)."""
    history = _history(sink)
    history.job.reads(2, is_committed=False)

    history.sink.operator = OperatorId("01" * 16)
    history.job.is_killed_and_started()

    assert {6, 7} == truth_of(history).lost
