"""A live job commits while evidence is collected: the ledger may end below what `missing_positions` has seen."""

from bot.diagnosis import recovered_by_itself
from bot.domain.diagnosis import CannotTell, Case, Matches
from bot.domain.findings import GapsFinding
from tests.cases import Tale, job_id
from tests.found import ruled_out

ROWS = 10


def failed_over() -> Tale:
    """Run a fails after checkpoint 2, goes on from it, and commits 3 and 4."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)
    return tale.came_from("a", 2, f"s3://state/{job_id('a')}/chk-2").commits("a", 3, 4)


def _looked(tale: Tale, *, ledger_until: int, until: int = 4, highest: int) -> Case:
    """Positions were looked for up to run a's checkpoint `until`, the head; the ledger covers up to the other one."""
    case = tale.looked_at(gaps=GapsFinding(lowest=0, highest=highest, positions=highest + 1, missing=0, gaps=()))
    assert case.ledger is not None
    edge = case.observation.table.place_of(tale.at("a", ledger_until))
    listed = [row for row in case.ledger.rows if case.observation.table.place_of(row.snapshot_id) <= edge]
    rows = tuple(
        row.model_copy(update={"position_from": index * ROWS, "position_until": index * ROWS + ROWS - 1})
        for index, row in enumerate(sorted(listed, key=lambda row: row.committed_at))
    )
    asked = tuple(
        ruled_out(case, task, tale.at("a", ledger_until) if task == "ledger" else tale.at("a", until))
        for task in ("ledger", "missing_positions")
    )
    return case.model_copy(
        update={"ledger": case.ledger.model_copy(update={"rows": rows}), "evidence": (*case.evidence, *asked)}
    )


def test_the_ledger_is_asked_for_once_more_where_the_run_may_have_brought_the_highest_position() -> None:
    """It has come to 29 in the ledger and main to 39: that is its own commit 4, or rows that it is to bring again."""
    found = recovered_by_itself.examine(_looked(failed_over(), ledger_until=3, highest=39))

    assert isinstance(found, CannotTell)
    assert found.asks == ("ledger",)
    assert found.missing == (
        "ledger, once more: …004004, which it does not list, may have brought the highest position",
    )


def test_a_ledger_that_covers_as_much_settles_it() -> None:
    """Both ways."""
    assert isinstance(recovered_by_itself.examine(_looked(failed_over(), ledger_until=4, highest=39)), Matches)

    behind = recovered_by_itself.examine(_looked(failed_over(), ledger_until=4, highest=49))

    assert isinstance(behind, CannotTell)
    assert "which has come to 39, brings again what lies up to 49" in behind.missing[0]


def test_no_ledger_is_asked_for_where_another_run_had_come_further() -> None:
    """What it lists shows already that rows are to come again."""
    tale = Tale().flink_runs("z").commits("z", 1, 2, 3).becomes("z", "CANCELED").flink_runs("a")
    tale.came_from("a", 3, f"s3://state/{job_id('z')}/chk-3").commits("a", 4, 5)
    case = _looked(tale, ledger_until=4, until=5, highest=39)
    assert case.ledger is not None
    filled = [
        row.model_copy(update={"position_from": 12, "position_until": 15}) if row.job_id == job_id("a") else row
        for row in case.ledger.rows
    ]

    found = recovered_by_itself.examine(
        case.model_copy(update={"ledger": case.ledger.model_copy(update={"rows": tuple(filled)})})
    )

    assert isinstance(found, CannotTell)
    assert "ledger" not in found.asks
    assert "which has come to 15, brings again what lies up to 39" in found.missing[0]
