"""Two sinks of one run take turns on main, and neither F13 nor the table's health takes them for two jobs."""

from bot.diagnosis import two_jobs_write_the_table
from bot.diagnosis._wrong_rows import wrong_files
from bot.domain.diagnosis import Excluded
from bot.domain.findings import ForkedWritersFinding
from bot.domain.ids import OperatorId
from tests.cases import OPERATOR, Tale

OTHER = OperatorId("ee" * 16)


def test_two_sinks_of_one_run_are_one_job() -> None:
    """Though the evidence confirms that writers take turns."""
    tale = Tale().flink_runs("a")
    for checkpoint in (1, 2, 3):
        tale.commits("a", checkpoint).commits("a", checkpoint).by_sink(OTHER)
    found = ForkedWritersFinding(writers=(), turns=0, forked=(), sink_turns=4, sinks=(OPERATOR, OTHER))

    case = tale.looked_at(forked=found)

    assert isinstance(two_jobs_write_the_table.examine(case), Excluded)
    assert wrong_files(case) is None
