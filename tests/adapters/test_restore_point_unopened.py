"""One restore point that storage lists and does not let be opened hides none of the others."""

from collections.abc import Iterator

import boto3
import pytest
from pyarrow.fs import S3FileSystem

from bot.adapters.checkpoint_files import CheckpointFiles
from bot.domain.errors import CouldNotLook
from bot.domain.findings import PairVerdict
from bot.domain.flink import StoredCheckpoint
from bot.domain.looked import Seen
from bot.domain.pairing import pairings
from tests.adapters.test_checkpoint_files import JOB, OTHER
from tests.adapters.test_checkpoint_files_s3 import BUCKET, address, known_as, put, s3
from tests.adapters.test_checkpoint_parsing import recorded
from tests.adapters.test_lineage import TABLE
from tests.catalogs.ailing_s3 import AilingS3, ailing_s3

__all__ = ["address", "s3"]
ONE, OTHER_ONE = "savepoint-aaaaaa-000000000001", "savepoint-bbbbbb-000000000002"
FILES = CheckpointFiles(f"s3://{BUCKET}/checkpoints", f"s3://{BUCKET}/savepoints")


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

    stored = FILES.stored(JOB, [])

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

    stored = FILES.stored(JOB, [])

    told = by_name(stored)
    assert {each for each, problem in told.items() if problem} == {name}
    assert "ACCESS_DENIED" in (told[name] or "")
    denied = next(each for each in stored if each.problem)
    assert denied.written_at.year > 2000
    assert denied.job_id == (OTHER if name == "chk-3" else None)
    assert denied.is_unread
    with pytest.raises(CouldNotLook, match="could not be read"):
        FILES.read(denied.path)


@pytest.mark.parametrize("ailment", ["denied", "throttled"])
def test_where_none_can_be_opened_nobody_could_look(between: AilingS3, ailment: str) -> None:
    """Credentials that may list and not read, or a storage that hands out nothing, are no trouble of one point."""
    between.falls(ailment, lambda _method, path: "/_metadata" in path and "list-type" not in path)

    with pytest.raises(CouldNotLook, match=r"The checkpoint folder of orders-to-iceberg, s3://flink-state/checkpoints"):
        FILES.stored(JOB, [])


def test_a_storage_that_falls_silent_amid_the_look_could_not_be_looked_at(between: AilingS3) -> None:
    """The first point was read; that the second could not is then no word about the second."""
    between.falls("throttled", lambda _method, path: OTHER_ONE in path)

    with pytest.raises(CouldNotLook, match=r"The savepoint folder of orders-to-iceberg"):
        FILES.stored(JOB, [])
