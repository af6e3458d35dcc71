"""The channel to a Spark Connect server, after another thread has closed it."""

import pytest
from pyspark.sql.connect.proto.base_pb2 import ExecutePlanRequest, ReleaseExecuteRequest
from pyspark.sql.connect.proto.base_pb2_grpc import SparkConnectServiceStub

from bot.adapters.spark_session import RemoteSpark, _Channel


def test_a_call_on_a_closed_channel_is_an_error_and_not_the_end_of_the_process() -> None:
    """PySpark releases what it read on threads of its own; without the mend grpcio ends the process here."""
    url = "sc://127.0.0.1:1"
    channel = _Channel(RemoteSpark(url=url), url, within_s=1).toChannel()
    stub = SparkConnectServiceStub(channel)
    channel.close()

    with pytest.raises(ValueError, match=r"(?i)channel"):
        stub.ReleaseExecute(ReleaseExecuteRequest())
    with pytest.raises(ValueError, match=r"(?i)channel"):
        next(stub.ExecutePlan(ExecutePlanRequest()))
