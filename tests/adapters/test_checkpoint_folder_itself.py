"""A checkpoint folder that holds the checkpoints itself, without a folder for each run."""

from pathlib import Path

import pytest

from bot.adapters.checkpoint_files import CheckpointFiles
from bot.domain.errors import CouldNotLook
from bot.domain.ids import JobId
from tests.adapters.test_checkpoint_files import JOB, OTHER, State
from tests.adapters.test_checkpoint_files import state as state
from tests.adapters.test_checkpoint_parsing import V1_120, recorded


def test_checkpoints_without_a_folder_for_their_run_are_found(state: State) -> None:
    """`execution.checkpointing.create-subdir: false`; the run is known only where the committer's state tells it."""
    bare = state.put(state.checkpoints / "chk-12", recorded("flink21_v1_chk12_not_inline.xz"))
    told = state.put(state.checkpoints / "chk-13", recorded("v1_stop_savepoint__metadata"))
    state.put(state.checkpoints / "chk-14", None)
    state.put(state.checkpoints / "shared", None)

    stored = state.files.stored(JOB, [])

    assert [(each.path, each.job_id) for each in stored] == [(f"file:{told}", V1_120), (f"file:{bare}", None)]


@pytest.mark.parametrize(("run", "found"), [(V1_120, [13, 12]), (OTHER, [12])])
def test_of_these_only_those_that_may_be_of_the_asked_runs(state: State, run: JobId, found: list[int]) -> None:
    """One whose run nobody knows may be of any."""
    state.put(state.checkpoints / "chk-12", recorded("flink21_v1_chk12_not_inline.xz"))
    state.put(state.checkpoints / "chk-13", recorded("v1_stop_savepoint__metadata"))

    stored = state.files.stored(JOB, [run])

    assert [int(each.path.rpartition("-")[2]) for each in stored] == found


def test_the_folder_of_one_run_is_no_folder_of_checkpoints(state: State) -> None:
    """The next run's would never be seen: it is said what to set."""
    deep = state.checkpoints / OTHER
    state.put(deep / "chk-12", recorded("flink21_v1_chk12_not_inline.xz"))

    with pytest.raises(
        CouldNotLook, match=r"is the folder of a single run.*Set `checkpoint_dir` to the folder above it"
    ):
        CheckpointFiles(str(Path(deep)) + "/", None).stored(JOB, [])
