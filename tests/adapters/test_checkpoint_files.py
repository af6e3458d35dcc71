"""Restore points in the folders where Flink keeps them, also on S3, and one that cannot be opened."""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import boto3
import pytest
from pyarrow.fs import S3FileSystem

from bot.adapters import checkpoint_files
from bot.adapters.checkpoint_files import CheckpointFiles
from bot.adapters.checkpoint_parsing import Handle, ParsedMetadata, told_by
from bot.adapters.storage import opened, opened_with
from bot.adapters.table_files import FolderOfTable
from bot.history.restore import pairings
from bot.observation.errors import CouldNotLook
from bot.observation.findings import PairVerdict
from bot.observation.flink import CheckpointKind, CompletedCheckpoint, JobRun, StoredCheckpoint, with_kinds
from bot.observation.ids import CheckpointId, JobId
from bot.observation.looked import Seen
from bot.observation.paths import plain
from tests.adapters.serving import aws_of_moto, unused_address
from tests.adapters.test_checkpoint_parsing import COMMITTER_V1_21, V1_21, V1_21_RESTORED, V1_120, recorded
from tests.adapters.test_lineage import TABLE
from tests.catalogs.ailing_s3 import AilingS3, ailing_s3

__all__ = ["address", "s3"]


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


def test_without_a_configured_folder_nobody_has_looked() -> None:
    """It must not read as a storage that holds no restore point."""
    with pytest.raises(CouldNotLook, match="No folder"):
        CheckpointFiles(None, None).stored(JOB, [])


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


def _never_of(length: int) -> Callable[..., ParsedMetadata]:
    """The reading, which must not be given a file of this length."""

    def told(content: bytes, *more: Callable[[Handle], bytes | None]) -> ParsedMetadata:
        assert len(content) < length
        return told_by(content, *more)

    return told


BUCKET = "flink-state"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """An empty S3."""
    with aws_of_moto() as found:
        yield found


def known_as(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    """The environment of a deployment."""
    told = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    for name, value in told.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def s3(address: str, monkeypatch: pytest.MonkeyPatch) -> S3FileSystem:
    """That S3, with one bucket that is empty."""
    known_as(monkeypatch, address)
    files = S3FileSystem(endpoint_override=address, allow_bucket_creation=True)
    files.create_dir(BUCKET)
    files.delete_dir_contents(BUCKET)
    return files


def put(s3: S3FileSystem, key: str, content: bytes) -> None:
    """One object; an object store has no folders to make."""
    with s3.open_output_stream(f"{BUCKET}/{key}") as stream:
        stream.write(content)


def test_restore_points_on_s3_are_read_like_local_ones(s3: S3FileSystem) -> None:
    """Checkpoints and savepoints, with the committer's state beside the file, however Flink writes the scheme."""
    put(s3, f"checkpoints/{OTHER}/chk-12/_metadata", recorded("flink21_v1_chk12_not_inline.xz"))
    put(s3, f"checkpoints/{OTHER}/chk-12/{BESIDE}", recorded("flink21_v1_chk12_beside.xz"))
    put(s3, f"checkpoints/{OTHER}/shared/1.sst", b"")
    put(s3, "savepoints/savepoint-458818-27bdf9d630bd/_metadata", recorded("v1_stop_savepoint__metadata"))
    files = CheckpointFiles(f"s3a://{BUCKET}/checkpoints", f"s3://{BUCKET}/savepoints")

    stored = {each.kind: each for each in files.stored(JOB, [OTHER])}

    chk, savepoint = stored[CheckpointKind.CHECKPOINT], stored[CheckpointKind.STOP_SAVEPOINT]
    assert chk.path == f"s3://{BUCKET}/checkpoints/{OTHER}/chk-12"
    assert (chk.job_id, chk.is_committer_read, len(chk.pending_manifests)) == (V1_21_RESTORED, True, 8)
    assert (savepoint.job_id, savepoint.problem) == (V1_120, None)
    assert savepoint.written_at.year > 2000
    assert files.read(savepoint.path) == savepoint


def test_an_object_store_without_a_savepoint_yet_holds_none(s3: S3FileSystem) -> None:
    """It has no empty folders; what is there is still told."""
    put(s3, f"early/{OTHER}/chk-12/_metadata", recorded("flink21_v1_chk12_not_inline.xz"))

    (stored,) = CheckpointFiles(f"s3://{BUCKET}/early", f"s3://{BUCKET}/none-yet").stored(JOB, [OTHER])

    assert stored.kind is CheckpointKind.CHECKPOINT


def test_flink_manifests_on_s3_are_listed(s3: S3FileSystem) -> None:
    """The table's metadata folder, beside files that are none."""
    name = f"{OTHER}-{'0f' * 16}-00000-0-5-00001.avro"
    put(s3, f"lake/orders/metadata/{name}", b"12345")
    put(s3, "lake/orders/metadata/00001-a.metadata.json", b"{}")
    table = TABLE.model_copy(update={"location": f"s3://{BUCKET}/lake/orders"})

    [found] = FolderOfTable().flink_manifests(table)

    assert (found.path, found.checkpoint_id, found.bytes) == (f"s3://{BUCKET}/lake/orders/metadata/{name}", 5, 5)


def test_a_bucket_that_is_not_there_could_not_be_looked_into(s3: S3FileSystem) -> None:
    """Neither a wrong bucket nor a folder that nobody wrote to is an empty one."""
    for root in ("s3://no-such-bucket/checkpoints", f"s3://{BUCKET}/no-such-folder"):
        with pytest.raises(CouldNotLook, match="could not be read"):
            CheckpointFiles(root, None).stored(JOB, [])


def test_an_s3_that_is_down_could_not_be_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused connection is said, with the place."""
    known_as(monkeypatch, unused_address())
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")

    with pytest.raises(CouldNotLook, match="s3://flink-state/checkpoints"):
        CheckpointFiles("s3://flink-state/checkpoints", None).stored(JOB, [])


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


ONE, OTHER_ONE = "savepoint-aaaaaa-000000000001", "savepoint-bbbbbb-000000000002"


def on_s3() -> CheckpointFiles:
    """One that knows nothing yet: what was read before is not read again while it looks the same."""
    return CheckpointFiles(f"s3://{BUCKET}/checkpoints", f"s3://{BUCKET}/savepoints")


@pytest.fixture
def between(s3: S3FileSystem, address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[AilingS3]:
    """A proxy before that S3, which holds two savepoints and a retained checkpoint."""
    for name in (ONE, OTHER_ONE):
        put(s3, f"savepoints/{name}/_metadata", recorded("v2_stop_savepoint__metadata"))
    put(s3, f"checkpoints/{OTHER}/chk-3/_metadata", recorded("v1_upsert_chk3__metadata"))
    with ailing_s3(address) as proxy:
        known_as(monkeypatch, proxy.address)
        yield proxy


def by_name(stored: tuple[StoredCheckpoint, ...]) -> dict[str, str | None]:
    """Folder -> its problem."""
    return {each.path.rpartition("/")[2]: each.problem for each in stored}


def test_an_archived_savepoint_is_unreadable_with_the_reason(between: AilingS3, address: str) -> None:
    """S3 lists an object of Glacier, tells its size, and refuses to hand it out (InvalidObjectState)."""
    client = boto3.client(
        "s3", endpoint_url=address, aws_access_key_id="any", aws_secret_access_key="any", region_name="us-east-1"
    )
    body = recorded("v2_stop_savepoint__metadata")
    client.put_object(Bucket=BUCKET, Key=f"savepoints/{OTHER_ONE}/_metadata", Body=body, StorageClass="GLACIER")

    stored = on_s3().stored(JOB, [])

    told = by_name(stored)
    assert (told[ONE], told["chk-3"]) == (None, None)
    assert "there and could not be opened: OSError: AWS Error " in (told[OTHER_ONE] or "")
    assert " during GetObject operation" in (told[OTHER_ONE] or "")
    pairs = {each.path: each for each in pairings(stored, TABLE, Seen(source="Flink", values=()))}
    judged = pairs[f"s3://{BUCKET}/savepoints/{OTHER_ONE}"]
    assert (judged.verdict, judged.reason) == (PairVerdict.UNREADABLE, told[OTHER_ONE])


@pytest.mark.parametrize("name", [OTHER_ONE, "chk-3"])
def test_a_point_that_is_denied_hides_no_other(between: AilingS3, name: str) -> None:
    """Neither HEAD nor GET of it is allowed; the listing tells that it is there, and since when."""
    between.falls("denied", lambda _method, path: f"{name}/_metadata" in path and "list-type" not in path)

    stored = on_s3().stored(JOB, [])

    told = by_name(stored)
    assert {each for each, problem in told.items() if problem} == {name}
    assert "ACCESS_DENIED" in (told[name] or "")
    denied = next(each for each in stored if each.problem)
    assert denied.written_at.year > 2000
    assert denied.job_id == (OTHER if name == "chk-3" else None)
    assert denied.is_unread
    with pytest.raises(CouldNotLook, match="could not be read"):
        on_s3().read(denied.path)


@pytest.mark.parametrize("ailment", ["denied", "throttled"])
def test_where_none_can_be_opened_nobody_could_look(between: AilingS3, ailment: str) -> None:
    """Credentials that may list and not read, or a storage that hands out nothing, are no trouble of one point."""
    between.falls(ailment, lambda _method, path: "/_metadata" in path and "list-type" not in path)

    with pytest.raises(CouldNotLook, match=r"The checkpoint folder of orders-to-iceberg, s3://flink-state/checkpoints"):
        on_s3().stored(JOB, [])


def test_a_storage_that_falls_silent_amid_the_look_could_not_be_looked_at(between: AilingS3) -> None:
    """The first point was read; that the second could not is then no word about the second."""
    between.falls("throttled", lambda _method, path: OTHER_ONE in path)

    with pytest.raises(CouldNotLook, match=r"The savepoint folder of orders-to-iceberg"):
        on_s3().stored(JOB, [])


NOON = datetime(2026, 11, 3, 12, 0, tzinfo=UTC)
STORED = StoredCheckpoint(
    path="file:/state/savepoints/savepoint-a",
    kind=CheckpointKind.SAVEPOINT,
    checkpoint_id=CheckpointId(8),
    written_at=NOON,
)


def run_that_took(kind: CheckpointKind, path: str | None) -> JobRun:
    """A run with one entry in its history."""
    taken = CompletedCheckpoint(
        checkpoint_id=CheckpointId(8), kind=kind, status="COMPLETED", triggered_at=NOON, path=path
    )
    return JobRun(
        job_id=JobId("a" * 32), name="orders", state="RUNNING", started_at=NOON,
        checkpoints=(taken,), completed_count=1,

    )  # fmt: skip


@pytest.mark.parametrize("path", ["file:/state/savepoints/savepoint-a", "file:///state/savepoints/savepoint-a/"])
def test_flinks_history_decides_the_kind(path: str) -> None:
    """However the path is written: a stop-savepoint pairs, an intermediate one may not."""
    [joined] = with_kinds([STORED], [run_that_took(CheckpointKind.STOP_SAVEPOINT, path)])

    assert joined.kind is CheckpointKind.STOP_SAVEPOINT


@pytest.mark.parametrize(
    "run",
    [
        run_that_took(CheckpointKind.STOP_SAVEPOINT, "file:/state/savepoints/savepoint-ab"),
        run_that_took(CheckpointKind.UNKNOWN, STORED.path),
        run_that_took(CheckpointKind.STOP_SAVEPOINT, None),
    ],
    ids=["another path", "Flink does not say", "not finished"],
)
def test_where_the_history_is_silent_the_file_decides(run: JobRun) -> None:
    """The history keeps ten entries and ends with the JobManager."""
    assert with_kinds([STORED], [run]) == (STORED,)


def test_paths_of_other_storage_are_compared_as_they_are() -> None:
    """Only `file:` has three ways to be written."""
    assert plain("s3://bucket/a/") == plain("s3a://bucket/a") == plain("s3n://bucket/a") == "s3://bucket/a"
    assert plain("file:///a/b") == plain("file:/a/b") == plain("/a/b/") == "/a/b"


def test_one_client_serves_a_bucket_until_the_environment_changes(
    s3: S3FileSystem, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Making one asks for the bucket's region; keys that are replaced are taken up."""
    vended = {
        "s3.endpoint": address,
        "s3.access-key-id": "any",
        "s3.secret-access-key": "any",
        "s3.region": "us-east-1",
    }
    one, inside = opened(f"s3a://{BUCKET}/a/1%20.parquet")
    same, again = opened(f"s3://{BUCKET}/b/")[0], opened_with(vended, f"s3://{BUCKET}/a")[0]
    monkeypatch.setenv("AWS_SESSION_TOKEN", "replaced")

    assert (one is same, inside) == (True, f"{BUCKET}/a/1%20.parquet")
    assert again is opened_with(dict(vended), f"s3://{BUCKET}/b")[0]
    assert again is not opened_with({**vended, "s3.session-token": "t"}, f"s3://{BUCKET}/b")[0]
    assert opened(f"s3://{BUCKET}/a")[0] is not one
