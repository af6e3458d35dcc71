"""Files that storage does not give: missing, unreadable, damaged, or hidden by their name."""

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from bot.observation.evidence import Verdict
from bot.observation.findings import UnreadableFile
from spark_tasks import missing_files
from tests.evidence.conftest import Asks
from tests.evidence.histories import write
from tests.tables import OrdersTable, of_table
from tests.upserts import upserts


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
    assert answer.finding.files_checked == 1 + 2 + 3
    assert answer.headline == "All 6 files that the head names are on storage; none was opened."


def test_a_file_of_an_older_commit_is_named_with_its_commit_and_rows(orders: OrdersTable, asks: Asks) -> None:
    """No task that looks at the window sees it; reads of the table fail all the same."""
    first = orders.commits_files("a", 1, {"one.parquet": range(10), "two.parquet": range(10, 13)})
    second = orders.commits_files("a", 2, {"three.parquet": range(20, 50)})
    head = orders.commits("a", 3, range(50, 60))
    removes(orders, "one.parquet", "three.parquet")

    answer = asks("missing_files", orders.ask(head))

    found = answer.finding
    assert answer.verdict is Verdict.CONFIRMED
    assert (found.count, found.rows, found.commits, found.not_asked) == (2, 40, (first, second), 0)
    assert [(f.what, Path(f.path).name, f.snapshot_id, f.rows) for f in found.files] == [
        ("data", "one.parquet", first, 10),
        ("data", "three.parquet", second, 30),
    ]
    assert answer.headline.startswith("2 files with 40 rows that the head names are not on storage, added by …")


def test_a_missing_delete_file_is_told_first_and_has_no_rows(orders: OrdersTable, asks: Asks) -> None:
    """With it the rows that it deletes would come back."""
    orders.commits("a", 1, range(10))
    head = upserts(orders, "a", 2, [20], keys=[3])
    orders.commits("a", 3, range(30, 40))
    for path in orders.data_folder.rglob("*.parquet"):
        path.unlink()

    found = asks("missing_files", orders.ask(head)).finding

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

    found = asks("missing_files", orders.ask(head)).finding

    assert [(f.what, Path(f.path).name) for f in found.files] == [("manifest", lost.name), ("data", "two.parquet")]
    assert (found.count, found.commits) == (2, (first, second))


@pytest.mark.parametrize("told", [(10, Verdict.CONFIRMED, 1, 0), (1, Verdict.INCONCLUSIVE, 0, 3)])
def test_files_that_lie_elsewhere_are_asked_one_by_one(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch, told: tuple[int, Verdict, int, int]
) -> None:
    """As after `write.data.path` was changed; what the bound leaves out is counted, and not called there."""
    asked, verdict, missing, not_asked = told
    monkeypatch.setattr(missing_files, "MAX_ASKED", asked)
    orders.commits_files("a", 1, {name: range(3) for name in ("a.parquet", "b.parquet", "c.parquet")})
    head = orders.commits("a", 2, range(10, 20))
    (orders.data_folder.parent / "elsewhere").mkdir()
    removes(orders, "c.parquet")
    moved = {"write.data.path": f"file://{orders.data_folder.parent}/elsewhere"}

    answer = asks("missing_files", of_table(orders.ask(head), properties=moved))

    found = answer.finding
    assert (answer.verdict, found.count, found.not_asked) == (verdict, missing, not_asked)
    assert bool(answer.could_not_look) is (not_asked > 0)


def test_what_a_listing_leaves_out_is_not_called_missing(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a file that it does not show is there, the others that were not asked for may be there, too."""
    monkeypatch.setattr(missing_files, "MAX_ASKED", 1)
    whole = missing_files.files_under

    def incomplete(*asked: object) -> DataFrame:
        listed = whole(*asked)  # type: ignore[arg-type]
        return listed.where("path not like '%parquet'")

    monkeypatch.setattr(missing_files, "files_under", incomplete)
    head = orders.commits_files("a", 1, {"a.parquet": range(10), "b.parquet": range(10)})

    answer = asks("missing_files", orders.ask(head))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert (answer.finding.count, answer.finding.not_asked) == (0, 1)
    assert "1 file was not asked for" in answer.headline


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


def test_the_oldest_commit_that_names_it_is_told(orders: OrdersTable, asks: Asks) -> None:
    """Whichever manifest is read first, and however often the question is asked."""
    first = orders.commits_files("a", 1, {"one.parquet": range(10)})
    write(orders, "a2[20:30] a3[30:40] a4[40:50]")
    head = orders.names_again("a", 9, ["one.parquet"])
    removes(orders, "one.parquet")

    told = [asks("missing_files", orders.ask(head)).finding for _ in range(2)]

    assert [(found.count, found.rows, found.commits) for found in told] == [(1, 10, (first,))] * 2
    assert [file.snapshot_id for found in told for file in found.files] == [first] * 2


HIDDEN = ("_hidden.parquet", "day=1/.dot.parquet", "copied.parquet._COPYING_")
IN_HIDDEN_FOLDERS = ("_folder/a.parquet", ".folder/b.parquet")


def test_hidden_names_of_the_window_are_not_asked_for(orders: OrdersTable, asks: Asks) -> None:
    """All that can be looked for is there, and the rest is left open by name, not accused."""
    before = orders.commits("a", 1, range(10))
    orders.commits_files("a", 2, {name: range(20, 25) for name in (*HIDDEN, *IN_HIDDEN_FOLDERS, "plain.parquet")})

    answer = asks("unreadable_files", orders.ask(before))

    found = answer.finding
    assert answer.verdict is Verdict.INCONCLUSIVE
    assert (found.count, found.not_asked) == (0, 3)
    assert answer.could_not_look[0].source.startswith("3 files of sales.orders with a name that Spark passes over")


def test_hidden_names_of_the_whole_table_are_not_asked_for(orders: OrdersTable, asks: Asks) -> None:
    """They are there, and readers find them. Files in folders of such names are asked for one by one, and found."""
    head = orders.commits_files("a", 1, {name: range(20, 25) for name in (*HIDDEN, *IN_HIDDEN_FOLDERS)})

    answer = asks("missing_files", orders.ask(head))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert (answer.finding.count, answer.finding.not_asked) == (0, 3)


def told(file: UnreadableFile) -> tuple[str, str, int | None, int, str]:
    """All of it, the path by its name."""
    return file.what, Path(file.path).name, file.snapshot_id, file.rows, file.problem


def test_a_table_whose_files_can_all_be_read_is_ruled_out(orders: OrdersTable, asks: Asks) -> None:
    """Lists, manifests and files are counted; nothing is missing."""
    before, _ = write(orders, "a1[0:10] | a2[10:20] a3[20:30]")

    answer = asks("unreadable_files", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert answer.finding.files_checked == 2 + 3 + 2
    assert answer.headline == (
        "All 7 files looked at are there, in the sizes that the table states; of their contents only 2 Parquet footers "
        "were read, and no row."
    )


def test_a_deleted_data_file_is_named_with_its_commit_and_rows(orders: OrdersTable, asks: Asks) -> None:
    """A clean-up that took a live file away is seen although no row is read."""
    before = orders.commits("a", 1, range(10))
    head = orders.commits_files("a", 2, {"one file+%3A.parquet": range(10, 40), "two.parquet": range(40, 45)})
    (orders.data_folder / "one file+%3A.parquet").unlink()

    answer = asks("unreadable_files", orders.ask(before))

    assert answer.verdict is Verdict.CONFIRMED
    assert [told(file) for file in answer.finding.files] == [
        ("data", "one file+%3A.parquet", head, 30, "It is missing.")
    ]
    assert answer.headline.startswith("1 file of …")
    assert "with 30 rows is missing or damaged" in answer.headline


def test_commits_of_files_that_are_not_named_are_told(orders: OrdersTable, asks: Asks) -> None:
    """Twenty files are named; who asks what lies below the lost ones needs the commits of all."""
    before = orders.commits("a", 1, range(10))
    second = orders.commits_files("a", 2, {"z.parquet": range(10, 20)})
    third = orders.commits_files("a", 3, {f"a{place:02}.parquet": [20 + place] for place in range(20)})
    for file in orders.data_folder.glob("[az]*.parquet"):
        file.unlink()

    found = asks("unreadable_files", orders.ask(before)).finding

    assert (found.count, {file.snapshot_id for file in found.files}) == (21, {third})
    assert (found.commits, found.lists) == ((second, third), ())


def test_manifest_lists_are_told_from_the_newest_on(orders: OrdersTable, asks: Asks) -> None:
    """What can still be gone back to lies below them."""
    before = orders.commits("a", 1, range(10))
    lost = [orders.commits("a", each, range(10 * each, 10 * each + 10)) for each in (2, 3)]
    for each in lost:
        Path(orders.state().by_id[each].manifest_list.removeprefix("file://")).unlink()

    found = asks("unreadable_files", orders.ask(before)).finding

    assert (found.commits, found.lists) == ((), (lost[1], lost[0]))


def test_what_is_lost_or_damaged_is_named_and_the_rest_is_still_looked_at(orders: OrdersTable, asks: Asks) -> None:
    """A file of another length, and one of the right length whose end is no Parquet footer. What a lost manifest named
    cannot be judged; every reader opens those from before the window, too."""
    before, [_, second] = write(orders, "a1[0:10] | a2[10:20]")
    files = {"cut.parquet": range(10, 20), "odd[1].parquet": range(20, 30), "ok.parquet": [30]}
    third = orders.commits_files("a", 3, files)
    cut, odd = orders.data_folder / "cut.parquet", orders.data_folder / "odd[1].parquet"
    size = cut.stat().st_size
    cut.write_bytes(cut.read_bytes()[:-20])
    odd.write_bytes(odd.read_bytes()[:-4] + b"XXXX")
    assert before is not None
    lost = [orders.manifests_of(snapshot)[0] for snapshot in (before, second)]
    for manifest in lost:
        manifest.unlink()

    answer = asks("unreadable_files", orders.ask(before))

    assert {told(file) for file in answer.finding.files} == {
        ("manifest", lost[0].name, before, 0, "It is missing."),
        ("manifest", lost[1].name, second, 0, "It is missing."),
        ("data", "cut.parquet", third, 10, f"It has {size - 20:,} bytes instead of {size:,}."),
        ("data", "odd[1].parquet", third, 10, "It is not a Parquet file: its footer cannot be read."),
    }
    assert answer.finding.rows == 20


def test_a_lost_manifest_list_of_the_head_is_told_before_all_else(orders: OrdersTable, asks: Asks) -> None:
    """Nothing below it can be reached, and nothing below it is guessed."""
    before = orders.commits("a", 1, range(10))
    head = orders.commits("a", 2, range(10, 20))
    lost = Path(orders.state().by_id[head].manifest_list.removeprefix("file://"))
    lost.unlink()

    answer = asks("unreadable_files", orders.ask(before))

    assert answer.verdict is Verdict.CONFIRMED
    assert [told(file)[:3] for file in answer.finding.files] == [("manifest-list", lost.name, head)]
    assert f"The manifest list {lost.name} is missing or damaged" in answer.headline


def test_metadata_that_the_catalog_points_at_in_vain_is_confirmed(orders: OrdersTable, asks: Asks) -> None:
    """The look was at an older metadata file; that the newest is lost is the first thing to say."""
    before, _ = write(orders, "a1[0:10] | a2[10:20]")
    ask = of_table(orders.ask(before), lost_metadata="file:///lake/00009-x.metadata.json")

    answer = asks("unreadable_files", ask)

    assert answer.verdict is Verdict.CONFIRMED
    assert answer.finding.files[0].what == "metadata"


def test_files_that_main_no_longer_names_may_be_gone(orders: OrdersTable, asks: Asks) -> None:
    """A file that a later commit of the window removed is not needed at its end."""
    before = orders.commits("a", 1, range(10))
    orders.commits_files("a", 2, {"two.parquet": range(10, 20)})
    orders.deletes("order_id >= 10")
    (orders.data_folder / "two.parquet").unlink()

    answer = asks("unreadable_files", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT


def test_a_window_whose_end_has_expired_is_inconclusive(orders: OrdersTable, judges: Asks) -> None:
    """Nothing is concluded from what cannot be read."""
    before = orders.commits("a", 1, range(10))
    ask = orders.ask(before)

    answer = judges(
        "unreadable_files", ask.model_copy(update={"window": ask.window.model_copy(update={"until": 4711})})
    )

    assert answer.verdict is Verdict.INCONCLUSIVE
