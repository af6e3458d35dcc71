"""What an error of Spark says of one file: gone, damaged, or nothing."""

import pytest
from pyspark.sql.connect.proto.base_pb2 import ExecutePlanRequest, ReleaseExecuteRequest
from pyspark.sql.connect.proto.base_pb2_grpc import SparkConnectServiceStub

from bot.adapters.spark import file_trouble
from bot.adapters.spark_session import _Channel
from bot.observation.errors import FileDamaged, FileNotOpened
from bot.settings import SparkSettings

WHERE = "Encountered error while reading file s3a://lake/orders/a%20b%253A.parquet."


def test_spark_names_a_damaged_file_by_its_url() -> None:
    """Seen with Spark 4.1: blanks and percent signs are written as URLs have them."""
    found = file_trouble(RuntimeError(f"[FAILED_READ_FILE.NO_HINT] {WHERE}  SQLSTATE: KD001"), "the look")

    assert isinstance(found, FileDamaged)
    assert found.path == "s3a://lake/orders/a b%3A.parquet"


def test_a_file_that_is_gone_is_not_called_damaged() -> None:
    """It can be restored, which a damaged one cannot."""
    said = f"[FAILED_READ_FILE.FILE_NOT_EXIST] {WHERE} File does not exist. SQLSTATE: KD001"
    found = file_trouble(RuntimeError(said), "the look")

    assert isinstance(found, FileNotOpened)
    assert not isinstance(found, FileDamaged)
    assert found.path == "s3a://lake/orders/a b%3A.parquet"


@pytest.mark.parametrize("cause", ["Status Code: 403, Forbidden", "java.net.ConnectException: refused", "OutOfMemory"])
def test_the_way_to_the_storage_says_nothing_of_the_file(cause: str) -> None:
    """Neither that it is gone, nor that it is damaged."""
    assert file_trouble(RuntimeError(f"[FAILED_READ_FILE.NO_HINT] {WHERE} Caused by: {cause}"), "the look") is None


def test_a_call_on_a_closed_channel_is_an_error_and_not_the_end_of_the_process() -> None:
    """PySpark releases what it read on threads of its own; without the mend grpcio ends the process here."""
    url = "sc://127.0.0.1:1"
    channel = _Channel(SparkSettings(), url, within_s=1).toChannel()
    stub = SparkConnectServiceStub(channel)
    channel.close()

    with pytest.raises(ValueError, match=r"(?i)channel"):
        stub.ReleaseExecute(ReleaseExecuteRequest())
    with pytest.raises(ValueError, match=r"(?i)channel"):
        next(stub.ExecutePlan(ExecutePlanRequest()))
