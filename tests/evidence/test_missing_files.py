"""Every file of the head is looked for, whatever commit added it; what was not asked for is not called there."""

from pathlib import Path

import pytest
from pyiceberg.transforms import DayTransform, IdentityTransform
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from bot.domain.evidence import Answer, Verdict
from bot.domain.findings import MissingFilesFinding
from spark_tasks import _head_files, missing_files
from tests.evidence.conftest import Asks
from tests.tables import OrdersTable
from tests.upserts import upserts


def finding_of(answer: Answer) -> MissingFilesFinding:
    """The finding that the answer carries."""
    assert isinstance(answer.finding, MissingFilesFinding)
    return answer.finding


def removes(orders: OrdersTable, *names: str) -> None:
    """A clean-up takes live files away."""
    for name in names:
        (orders.data_folder / name).unlink()


def test_a_table_whose_files_are_all_there_is_ruled_out(orders: OrdersTable, asks: Asks) -> None:
    """Also those from before the window, whose names have signs; what a rollback took off main is not looked for."""
    orders.commits_files("a", 1, {"day=1/one file+%3A.parquet": range(10), "odd[1].parquet": range(10, 20)})
    head = orders.commits("a", 2, range(20, 30))
    orders.commits_files("a", 3, {"rolled-back.parquet": range(30, 40)})
    orders.rolls_back_to(head)
    removes(orders, "rolled-back.parquet")

    answer = asks("missing_files", orders.ask(head))

    assert answer.verdict is Verdict.RULED_OUT
    assert finding_of(answer).files_checked == 1 + 2 + 3
    assert answer.headline == "All 6 files that the head names are on storage; none was opened."


def test_a_file_of_an_older_commit_is_named_with_its_commit_and_rows(orders: OrdersTable, asks: Asks) -> None:
    """No task that looks at the window sees it; reads of the table fail all the same."""
    first = orders.commits_files("a", 1, {"one.parquet": range(10), "two.parquet": range(10, 13)})
    second = orders.commits_files("a", 2, {"three.parquet": range(20, 50)})
    head = orders.commits("a", 3, range(50, 60))
    removes(orders, "one.parquet", "three.parquet")

    answer = asks("missing_files", orders.ask(head))

    found = finding_of(answer)
    assert answer.verdict is Verdict.CONFIRMED
    assert (found.count, found.rows, found.commits, found.not_asked) == (2, 40, (first, second), 0)
    assert [(f.what, Path(f.path).name, f.snapshot_id, f.rows) for f in found.files] == [
        ("data", "one.parquet", first, 10),
        ("data", "three.parquet", second, 30),
    ]
    assert answer.headline.startswith("2 files with 40 rows that the head names are not on storage, added by …")


def test_a_missing_file_is_told_with_its_partition(orders: OrdersTable, asks: Asks) -> None:
    """As engines show it; not by a column that is hidden, nor where its spec had none."""
    first = orders.commits_files("a", 1, {"one.parquet": range(10)})
    orders.partitions_by(("event_time", DayTransform()), ("customer", IdentityTransform()))
    head = orders.commits("a", 2, [7])
    for path in orders.data_folder.rglob("*.parquet"):
        path.unlink()

    answer = asks("missing_files", orders.ask(head))

    assert finding_of(answer).commits == (first, head)
    assert sorted(row[-1] for row in answer.rows) == ["", "day(event_time)=2026-11-03"]


def test_a_missing_delete_file_is_told_first_and_has_no_rows(orders: OrdersTable, asks: Asks) -> None:
    """With it the rows that it deletes would come back."""
    orders.commits("a", 1, range(10))
    head = upserts(orders, "a", 2, [20], keys=[3])
    orders.commits("a", 3, range(30, 40))
    for path in orders.data_folder.rglob("*.parquet"):
        path.unlink()

    found = finding_of(asks("missing_files", orders.ask(head)))

    assert (found.count, found.rows) == (4, 21)
    first = found.files[0]
    assert (first.what, first.snapshot_id, first.rows) == ("deletes", head, 0)


def test_what_a_lost_manifest_leads_to_is_not_guessed_and_the_rest_is_looked_for(
    orders: OrdersTable, asks: Asks
) -> None:
    """The manifest is named, and a lost file of another one."""
    first = orders.commits("a", 1, range(10))
    second = orders.commits_files("a", 2, {"two.parquet": range(10, 20)})
    head = orders.commits("a", 3, range(20, 30))
    lost = orders.manifests_of(first)[0]
    lost.unlink()
    removes(orders, "two.parquet")

    found = finding_of(asks("missing_files", orders.ask(head)))

    assert [(f.what, Path(f.path).name) for f in found.files] == [("manifest", lost.name), ("data", "two.parquet")]
    assert (found.count, found.commits) == (2, (first, second))


@pytest.mark.parametrize("told", [(10, Verdict.CONFIRMED, 1, 0), (1, Verdict.INCONCLUSIVE, 0, 3)])
def test_files_that_lie_elsewhere_are_asked_one_by_one(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch, told: tuple[int, Verdict, int, int]
) -> None:
    """As after `write.data.path` was changed; what the bound leaves out is counted, and not called there."""
    asked, verdict, missing, not_asked = told
    monkeypatch.setattr(_head_files, "MAX_ASKED", asked)
    orders.commits_files("a", 1, {name: range(3) for name in ("a.parquet", "b.parquet", "c.parquet")})
    head = orders.commits("a", 2, range(10, 20))
    (orders.data_folder.parent / "elsewhere").mkdir()
    removes(orders, "c.parquet")
    ask = orders.ask(head)
    moved = {"write.data.path": f"file://{orders.data_folder.parent}/elsewhere"}
    table = ask.observation.table.model_copy(update={"properties": moved})
    ask = ask.model_copy(update={"observation": ask.observation.model_copy(update={"table": table})})

    answer = asks("missing_files", ask)

    found = finding_of(answer)
    assert (answer.verdict, found.count, found.not_asked) == (verdict, missing, not_asked)
    assert bool(answer.could_not_look) is (not_asked > 0)


def test_the_count_is_whole_though_only_some_are_asked_for(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A listing that misses nothing that is there can be relied on."""
    monkeypatch.setattr(_head_files, "MAX_ASKED", 2)
    names = [f"{number:02d}.parquet" for number in range(25)]
    orders.commits_files("a", 1, {name: range(2) for name in names})
    head = orders.commits("a", 2, range(10, 20))
    removes(orders, *names[:23])

    answer = asks("missing_files", orders.ask(head))

    assert (finding_of(answer).count, finding_of(answer).rows) == (23, 46)
    assert len(answer.rows) == 20


def test_what_a_listing_leaves_out_is_not_called_missing(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a file that it does not show is there, the others that were not asked for may be there, too."""
    monkeypatch.setattr(_head_files, "MAX_ASKED", 1)
    whole = _head_files.files_under

    def incomplete(*asked: object) -> DataFrame:
        listed = whole(*asked)  # type: ignore[arg-type]
        assert listed is not None
        return listed.where("path not like '%parquet'")

    monkeypatch.setattr(_head_files, "files_under", incomplete)
    head = orders.commits_files("a", 1, {"a.parquet": range(10), "b.parquet": range(10)})

    answer = asks("missing_files", orders.ask(head))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert (finding_of(answer).count, finding_of(answer).not_asked) == (0, 1)
    assert "1 file was not asked for" in answer.headline


def test_a_name_that_spark_passes_over_is_not_called_missing(orders: OrdersTable, asks: Asks) -> None:
    """It is there, and readers of the table find it."""
    head = orders.commits_files("a", 1, {"_hidden.parquet": range(10), "day=1/.dot.parquet": [1]})

    answer = asks("missing_files", orders.ask(head))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert (finding_of(answer).count, finding_of(answer).not_asked) == (0, 2)


@pytest.mark.parametrize("said", ["S3: AccessDenied", "Status Code: 503; SlowDown"])
def test_a_storage_that_refuses_leaves_it_open(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    """Denied or throttled is neither there nor missing."""

    def refused(*_: object) -> None:
        raise PySparkException(said)

    monkeypatch.setattr(missing_files, "lost_of", refused)

    answer = asks("missing_files", orders.ask(orders.commits("a", 1, range(10))))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert said in answer.could_not_look[0].reason
