"""Restore points in the folders where Flink keeps them."""

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.adapters import checkpoint_files
from bot.adapters.checkpoint_files import CheckpointFiles
from bot.adapters.checkpoint_parsing import Handle, Told, told_by
from bot.domain.errors import CouldNotLook
from bot.domain.flink import CheckpointKind
from bot.domain.ids import JobId
from tests.adapters.test_checkpoint_parsing import COMMITTER_V1_21, V1_21, V1_21_RESTORED, V1_120, recorded

JOB = "orders-to-iceberg"
OTHER = JobId("082e965efea30042147eb49713eb374e")


class State:
    """Flink's two folders."""

    def __init__(self, root: Path) -> None:
        self.checkpoints = root / "checkpoints"
        self.savepoints = root / "savepoints"
        self.checkpoints.mkdir()
        self.savepoints.mkdir()
        self.files = CheckpointFiles(str(self.checkpoints), self.savepoints.as_uri())
        self._second = 1_795_000_000

    def put(self, folder: Path, content: bytes | None) -> Path:
        """A restore point, one second younger than the one before; None leaves out `_metadata`."""
        folder.mkdir(parents=True)
        self._second += 1
        if content is not None:
            (folder / "_metadata").write_bytes(content)
            os.utime(folder / "_metadata", (self._second, self._second))
        return folder


@pytest.fixture
def state(tmp_path: Path) -> State:
    """Both folders, empty."""
    return State(tmp_path)


def test_restore_points_are_listed_newest_first(state: State) -> None:
    """Retained checkpoints and savepoints together, each with writer, kind, digest and Flink's own path."""
    stopped = recorded("v1_stop_savepoint__metadata")
    chk = state.put(state.checkpoints / OTHER / "chk-3", recorded("v1_upsert_chk3__metadata"))
    savepoint = state.put(state.savepoints / "savepoint-458818-27bdf9d630bd", stopped)

    stored = state.files.stored(JOB, [])

    assert [each.path for each in stored] == [f"file:{savepoint}", f"file:{chk}"]
    assert [each.kind for each in stored] == [CheckpointKind.STOP_SAVEPOINT, CheckpointKind.CHECKPOINT]
    assert [each.job_id for each in stored] == [V1_120, OTHER]
    assert stored[0].digest == hashlib.sha256(stopped).hexdigest()
    assert [each.problem for each in stored] == [None, None]


def test_a_copy_is_as_old_as_what_it_is_a_copy_of(state: State) -> None:
    """Copying a savepoint's folder makes its files younger than the state that they hold."""
    content = recorded("v1_stop_savepoint__metadata")
    savepoint = state.put(state.savepoints / "savepoint-458818-27bdf9d630bd", content)
    state.put(state.checkpoints / OTHER / "chk-3", recorded("v1_upsert_chk3__metadata"))
    copy = state.put(state.savepoints / "savepoint-copy", content)

    checkpoint, *copies = state.files.stored(JOB, [])

    assert {each.path for each in copies} == {f"file:{savepoint}", f"file:{copy}"}
    assert {each.written_at.timestamp() for each in copies} == {1_795_000_001}
    assert checkpoint.written_at.timestamp() == 1_795_000_002


def test_the_folder_tells_the_run_where_the_file_does_not(state: State) -> None:
    """Committer state above 20 KB lies in another file; a retained checkpoint's folder names its run."""
    state.put(state.checkpoints / OTHER / "chk-12", recorded("flink21_v1_chk12_not_inline.xz"))

    stored = state.files.stored(JOB, [])

    assert [(each.checkpoint_id, each.job_id) for each in stored] == [(12, OTHER)]


BESIDE = "cfb11008-84e9-46a3-8ac3-d05cb93769c8"
"""The committer's state of checkpoint 12, above the inline threshold: eight checkpoints that wait."""


def test_what_a_large_committer_state_owes_is_known(state: State) -> None:
    """It lies in a file beside `_metadata`; operators, their names and sizes come from the file itself."""
    folder = state.put(state.checkpoints / OTHER / "chk-12", recorded("flink21_v1_chk12_not_inline.xz"))
    (folder / BESIDE).write_bytes(recorded("flink21_v1_chk12_beside.xz"))

    [stored] = state.files.stored(JOB, [])

    assert (stored.job_id, stored.is_committer_read, len(stored.pending_manifests)) == (V1_21_RESTORED, True, 8)
    assert stored.state_bytes[COMMITTER_V1_21] == 22145
    assert stored.operator_names[COMMITTER_V1_21] == "IcebergFilesCommitter"
    assert set(stored.operator_ids) == set(stored.state_bytes)


@pytest.mark.parametrize("beside", [None, b"cut"])
def test_a_committer_state_that_is_gone_or_cut_owes_nobody_knows_what(state: State, beside: bytes | None) -> None:
    """No pending manifest in sight is not "nothing is owed"."""
    folder = state.put(state.checkpoints / OTHER / "chk-12", recorded("flink21_v1_chk12_not_inline.xz"))
    if beside is not None:
        (folder / BESIDE).write_bytes(beside)

    [stored] = state.files.stored(JOB, [])

    assert (stored.pending_manifests, stored.is_committer_read) == ((), False)
    assert stored.state_bytes[COMMITTER_V1_21] == 22145


def test_a_committer_state_that_is_too_large_is_not_read(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look has its bounds; what it did not read it does not claim to know."""
    folder = state.put(state.checkpoints / OTHER / "chk-12", recorded("flink21_v1_chk12_not_inline.xz"))
    (folder / BESIDE).write_bytes(recorded("flink21_v1_chk12_beside.xz"))
    monkeypatch.setattr(checkpoint_files, "MAX_STATE_BYTES", 22144)

    [stored] = state.files.stored(JOB, [])

    assert (stored.pending_manifests, stored.is_committer_read) == ((), False)


def test_only_the_asked_runs_are_listed_but_every_savepoint(state: State) -> None:
    """A session cluster keeps many jobs' checkpoints in one folder."""
    state.put(state.checkpoints / OTHER / "chk-3", recorded("v1_upsert_chk3__metadata"))
    state.put(state.checkpoints / ("1" * 32) / "chk-3", recorded("v1_upsert_chk3__metadata"))
    state.put(state.savepoints / "savepoint-d906db-fe9ebfc206d1", recorded("flink21_v1_savepoint.xz"))

    stored = state.files.stored(JOB, [OTHER])

    assert [(each.kind, each.job_id) for each in stored] == [
        (CheckpointKind.SAVEPOINT, V1_21),
        (CheckpointKind.CHECKPOINT, OTHER),
    ]


def test_what_cannot_be_read_is_listed_with_its_problem(state: State) -> None:
    """A damaged restore point is seen, named, and never silently passed over."""
    whole = recorded("v1_upsert_chk3__metadata")
    state.put(state.checkpoints / OTHER / "chk-3", whole[:100])
    state.put(state.savepoints / "savepoint-111111-000000000000", b"")
    state.put(state.savepoints / "savepoint-222222-000000000000", None)

    stored = state.files.stored(JOB, [])

    problems = {Path(each.path).name: each.problem or "" for each in stored}
    assert "cut off" in problems["chk-3"]
    assert "cut off" in problems["savepoint-111111-000000000000"]
    assert "no _metadata" in problems["savepoint-222222-000000000000"]


def test_a_checkpoint_in_the_making_is_none(state: State) -> None:
    """`chk-N` exists before the checkpoint is complete; `shared` and strangers are no checkpoints at all."""
    state.put(state.checkpoints / OTHER / "chk-4", None)
    state.put(state.checkpoints / OTHER / "shared", None)
    state.put(state.checkpoints / "lost+found" / "chk-1", recorded("v1_upsert_chk3__metadata"))
    state.put(state.savepoints / "notes", None)

    assert state.files.stored(JOB, []) == ()


@pytest.mark.parametrize("folder", ["checkpoints", "savepoints"])
def test_a_missing_folder_is_not_an_empty_one(state: State, folder: str) -> None:
    """A mount that is not there must not look like a job without restore points."""
    shutil.rmtree(getattr(state, folder))

    with pytest.raises(CouldNotLook, match=f"{folder}, could not be read|{folder.removesuffix('s')} folder"):
        state.files.stored(JOB, [])


def test_a_job_without_folders_has_no_restore_points() -> None:
    """Nothing configured, nothing looked for."""
    assert CheckpointFiles(None, None).stored(JOB, []) == ()


@pytest.mark.parametrize("form", ["{}", "file:{}", "file://{}", "{}/", "{}/_metadata"])
def test_one_restore_point_is_read_however_its_path_is_written(state: State, form: str) -> None:
    """Flink, people and the listing write the same path differently."""
    folder = state.put(state.savepoints / "savepoint-458818-27bdf9d630bd", recorded("v1_stop_savepoint__metadata"))

    stored = state.files.read(form.format(folder))

    assert stored == state.files.stored(JOB, [])[0]


def test_a_path_that_is_none_could_not_be_looked_at(state: State) -> None:
    """No folder, no `_metadata`, an unknown kind of storage: an error of ours each time."""
    empty = state.put(state.savepoints / "savepoint-1", None)

    for path in (str(empty), "/nowhere/savepoint-1", "nosuch://bucket/savepoint-1", "savepoint-1"):
        with pytest.raises(CouldNotLook):
            state.files.read(path)


def test_a_swapped_restore_point_has_another_digest(state: State) -> None:
    """What was approved is recognised by its content, not by its name."""
    folder = state.put(state.savepoints / "savepoint-1", recorded("v1_stop_savepoint__metadata"))
    approved = state.files.read(str(folder))
    (folder / "_metadata").write_bytes(recorded("v2_stop_savepoint__metadata"))

    assert state.files.read(str(folder)).digest != approved.digest


def test_a_metadata_file_that_is_too_large_is_not_loaded(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is listed with its size, hides no other, and is not taken for broken; asked for alone it says the same."""
    state.put(state.savepoints / "savepoint-1", recorded("v1_stop_savepoint__metadata"))
    large = state.put(state.savepoints / "savepoint-2", None)
    with (large / "_metadata").open("wb") as file:
        file.write(recorded("v2_stop_savepoint__metadata"))
        file.truncate(100 * 2**20)
    monkeypatch.setattr(checkpoint_files, "told_by", _never_of(100 * 2**20))

    whole, listed = sorted(state.files.stored(JOB, []), key=lambda each: each.path)

    assert (whole.problem, whole.is_unread) == (None, False)
    assert listed.problem == "Its _metadata has 100.0 MiB; Waterline reads no more than 16 MiB of one."
    assert listed.is_unread
    assert state.files.read(str(large)) == listed


def _never_of(length: int) -> Callable[..., Told]:
    """The reading, which must not be given a file of this length."""

    def told(content: bytes, *more: Callable[[Handle], bytes | None]) -> Told:
        assert len(content) < length
        return told_by(content, *more)

    return told
