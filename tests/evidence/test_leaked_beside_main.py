"""Flink manifests of a job that writes another branch (`toBranch`) are that branch's; nothing in one names it."""

import pytest

from bot.domain.evidence import Verdict
from bot.domain.findings import LeakStanding
from bot.domain.ids import OperatorId, short
from tests.evidence.conftest import Asks
from tests.evidence.leaked_files import ask_about, behind, ended, finding_of, later, only, told
from tests.tables import OrdersTable, of_flink, rows

OF_AUDIT = {"flink.operator-id": "0" * 31 + "a"}
NINE = {"nine.parquet": range(90, 95)}


@pytest.fixture
def audited(orders: OrdersTable) -> OrdersTable:
    """Run a writes main; run d has committed checkpoint 8 to branch audit, and is over."""
    orders.branches_off("audit", orders.commits("a", 1, range(10)))
    orders.appends(rows(range(80, 90)), of_flink("d", 8, OF_AUDIT), branch="audit")
    return orders


def commits_nine(orders: OrdersTable, run: str = "d") -> None:
    """The branch's next checkpoint, whose manifest stays, since its deletion failed."""
    orders.leaves_manifest(run, 9, NINE, operator=OperatorId(OF_AUDIT["flink.operator-id"]))
    orders.names_again(run, 9, [*NINE], OF_AUDIT, branch="audit")


@pytest.mark.parametrize("is_tag", [False, True])
def test_what_stands_on_another_branch_was_left_over(audited: OrdersTable, asks: Asks, is_tag: bool) -> None:
    """Main names none of it, and a run that came next without state has lost nothing of it; also where only a tag keeps
    what the branch had."""
    commits_nine(audited)
    if is_tag:
        audited.only_tagged("audit", "kept-audit")

    answer = asks("leaked_manifests", ask_about(audited, None, ended("d"), later("b")))

    assert answer.verdict is Verdict.RULED_OUT
    assert told(answer) == [(9, LeakStanding.LEFT_OVER, 1, 5)]
    where = "kept-audit" if is_tag else "audit"
    assert only(answer).reason == f"All its files are on {where}, which its run writes: only its deletion failed."


@pytest.mark.parametrize("run", ["d", "e"], ids=["the run itself", "a run that goes on with its sink"])
def test_what_a_branchs_run_never_committed_is_not_lost_from_main(audited: OrdersTable, asks: Asks, run: str) -> None:
    """Whether its rows were read again is not told; main lacks nothing either way."""
    audited.leaves_manifest(run, 9, NINE, operator=OperatorId(OF_AUDIT["flink.operator-id"]))
    at = audited.state().ref("audit")

    answer = asks("leaked_manifests", ask_about(audited, None, ended(run), later("b")))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert finding_of(answer).lost_rows == 0
    assert only(answer).standing is LeakStanding.UNTOLD
    assert f"commits to audit, up to checkpoint 8 ({short(at)}): what it wrote belongs there" in only(answer).reason


def test_what_is_lost_from_main_is_lost_beside_a_branch_of_another_job(audited: OrdersTable, asks: Asks) -> None:
    """The branch's job has a sink of its own."""
    audited.leaves_manifest("a", 2, {"two.parquet": range(10, 20)})

    answer = asks("leaked_manifests", ask_about(audited, None, ended("a"), behind("b", "a", 2)))

    assert answer.verdict is Verdict.CONFIRMED
    assert told(answer) == [(2, LeakStanding.LOST_STATE, 1, 10)]


@pytest.mark.parametrize("kept_by", ["nothing", "tag", "branch"])
def test_a_run_all_of_whose_commits_were_rolled_back_wrote_main(orders: OrdersTable, asks: Asks, kept_by: str) -> None:
    """Whatever keeps them since: main had them."""
    good = orders.commits("a", 1, range(10))
    lost = orders.commits("d", 8, range(80, 90))
    if kept_by == "tag":
        orders.tags("wl-1-left-0001", lost)
    if kept_by == "branch":
        orders.branches_off("before", lost)
    orders.rolls_back_to(good)
    orders.leaves_manifest("d", 9, NINE)

    answer = asks("leaked_manifests", ask_about(orders, None, ended("d"), behind("b", "d", 9)))

    assert answer.verdict is Verdict.CONFIRMED
    assert told(answer) == [(9, LeakStanding.LOST_STATE, 1, 5)]
