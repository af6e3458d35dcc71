"""Restore points and Flink manifests in an S3, spoken to over real HTTP on loopback.

The S3 is moto's server. Endpoint and credentials come from the environment, by the names that AWS gives them.
"""

from collections.abc import Iterator

import pytest
from moto.server import ThreadedMotoServer
from pyarrow.fs import S3FileSystem

from bot.adapters.checkpoint_files import CheckpointFiles
from bot.adapters.table_files import FolderOfTable
from bot.domain.errors import CouldNotLook
from bot.domain.flink import CheckpointKind
from tests.adapters.serving import unused_address
from tests.adapters.test_checkpoint_files import BESIDE, JOB, OTHER
from tests.adapters.test_checkpoint_parsing import V1_21_RESTORED, V1_120, recorded
from tests.adapters.test_lineage import TABLE

BUCKET = "flink-state"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """An empty S3."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


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
