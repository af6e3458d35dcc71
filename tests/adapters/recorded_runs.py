"""Runs of Flink 1.20 and 2.1 whose pages real clusters answered."""

from bot.adapters.flink_rest import FlinkRest
from bot.observation.flink import JobRun
from bot.observation.ids import JobId

F120 = "flink_rest_1_20"
F21 = "flink_rest_2_1"
RUN_120 = JobId("3824b02af8b4ac6e90607416acc8dabc")
RUN_21 = JobId("5457e33a5fd04345a210b16d93164afe")


def told(flink: FlinkRest, job_id: JobId) -> JobRun:
    """The run, which Flink knows."""
    run = flink.run(job_id)
    assert run is not None
    return run
