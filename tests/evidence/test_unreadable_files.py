"""What storage does not give is named with its commit and rows; what is there is not complained of."""

from pathlib import Path

from bot.domain.evidence import Answer, Verdict
from bot.domain.findings import UnreadableFile, UnreadableFilesFinding
from tests.evidence.conftest import Asks
from tests.tables import OrdersTable


def finding_of(answer: Answer) -> UnreadableFilesFinding:
    """The finding that the answer carries."""
    assert isinstance(answer.finding, UnreadableFilesFinding)
    return answer.finding


def told(file: UnreadableFile) -> tuple[str, str, int | None, int, str]:
    """All of it, the path by its name."""
    return file.what, Path(file.path).name, file.snapshot_id, file.rows, file.problem


def test_a_table_whose_files_are_all_there_is_ruled_out(orders: OrdersTable, asks: Asks) -> None:
    """Lists, manifests and files are counted; nothing is missing."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    orders.commits("a", 3, range(20, 30))

    answer = asks("unreadable_files", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert finding_of(answer).files_checked == 2 + 3 + 2
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
    assert [told(file) for file in finding_of(answer).files] == [
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

    found = finding_of(asks("unreadable_files", orders.ask(before)))

    assert (found.count, {file.snapshot_id for file in found.files}) == (21, {third})
    assert (found.commits, found.lists) == ((second, third), ())


def test_manifest_lists_are_told_from_the_newest_on(orders: OrdersTable, asks: Asks) -> None:
    """What can still be gone back to lies below them."""
    before = orders.commits("a", 1, range(10))
    lost = [orders.commits("a", each, range(10 * each, 10 * each + 10)) for each in (2, 3)]
    for each in lost:
        Path(orders.state().by_id[each].manifest_list.removeprefix("file://")).unlink()

    found = finding_of(asks("unreadable_files", orders.ask(before)))

    assert (found.commits, found.lists) == ((), (lost[1], lost[0]))


def test_a_cut_file_and_one_without_footer_are_damaged(orders: OrdersTable, asks: Asks) -> None:
    """A file of another length, and one of the right length whose end is no Parquet footer."""
    before = orders.commits("a", 1, range(10))
    orders.commits_files("a", 2, {"cut.parquet": range(10, 20), "odd[1].parquet": range(20, 30), "ok.parquet": [30]})
    cut, odd = orders.data_folder / "cut.parquet", orders.data_folder / "odd[1].parquet"
    size = cut.stat().st_size
    cut.write_bytes(cut.read_bytes()[:-20])
    odd.write_bytes(odd.read_bytes()[:-4] + b"XXXX")

    answer = asks("unreadable_files", orders.ask(before))

    assert {(told(f)[1], told(f)[4]) for f in finding_of(answer).files} == {
        ("cut.parquet", f"It has {size - 20:,} bytes instead of {size:,}."),
        ("odd[1].parquet", "It is not a Parquet file: its footer cannot be read."),
    }
    assert finding_of(answer).rows == 20


def test_a_lost_manifest_is_named_and_the_rest_is_still_looked_at(orders: OrdersTable, asks: Asks) -> None:
    """What a lost manifest named cannot be judged; a lost file of another commit is told all the same."""
    before = orders.commits("a", 1, range(10))
    second = orders.commits("a", 2, range(10, 20))
    third = orders.commits_files("a", 3, {"three.parquet": range(20, 30)})
    lost = orders.manifests_of(second)[0]
    lost.unlink()
    (orders.data_folder / "three.parquet").unlink()

    answer = asks("unreadable_files", orders.ask(before))

    assert [told(file)[:4] for file in finding_of(answer).files] == [
        ("manifest", lost.name, second, 0),
        ("data", "three.parquet", third, 10),
    ]


def test_an_older_manifest_that_is_gone_makes_the_table_unreadable_too(orders: OrdersTable, asks: Asks) -> None:
    """Every reader opens the manifests from before the window."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    orders.manifests_of(before)[0].unlink()

    answer = asks("unreadable_files", orders.ask(before))

    assert [(file.what, file.snapshot_id) for file in finding_of(answer).files] == [("manifest", before)]


def test_a_lost_manifest_list_of_the_head_is_told_before_all_else(orders: OrdersTable, asks: Asks) -> None:
    """Nothing below it can be reached, and nothing below it is guessed."""
    before = orders.commits("a", 1, range(10))
    head = orders.commits("a", 2, range(10, 20))
    lost = Path(orders.state().by_id[head].manifest_list.removeprefix("file://"))
    lost.unlink()

    answer = asks("unreadable_files", orders.ask(before))

    assert answer.verdict is Verdict.CONFIRMED
    assert [told(file)[:3] for file in finding_of(answer).files] == [("manifest-list", lost.name, head)]
    assert f"The manifest list {lost.name} is missing or damaged" in answer.headline


def test_metadata_that_the_catalog_points_at_in_vain_is_confirmed(orders: OrdersTable, asks: Asks) -> None:
    """The look was at an older metadata file; that the newest is lost is the first thing to say."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    ask = orders.ask(before)
    table = ask.observation.table.model_copy(update={"lost_metadata": "file:///lake/00009-x.metadata.json"})
    world = ask.observation.model_copy(update={"table": table})

    answer = asks("unreadable_files", ask.model_copy(update={"observation": world}))

    assert answer.verdict is Verdict.CONFIRMED
    assert finding_of(answer).files[0].what == "metadata"


def test_files_that_main_no_longer_names_may_be_gone(orders: OrdersTable, asks: Asks) -> None:
    """A file that a later commit of the window removed is not needed at its end."""
    before = orders.commits("a", 1, range(10))
    orders.commits_files("a", 2, {"two.parquet": range(10, 20)})
    orders.deletes("order_id >= 10")
    (orders.data_folder / "two.parquet").unlink()

    answer = asks("unreadable_files", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT


def test_a_window_whose_end_has_expired_is_inconclusive(orders: OrdersTable, asks: Asks) -> None:
    """Nothing is concluded from what cannot be read."""
    before = orders.commits("a", 1, range(10))
    ask = orders.ask(before)

    answer = asks("unreadable_files", ask.model_copy(update={"window": ask.window.model_copy(update={"until": 4711})}))

    assert answer.verdict is Verdict.INCONCLUSIVE
