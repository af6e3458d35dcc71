"""A commit over REST whose answer is lost, or which a gateway repeats."""

from collections.abc import Callable

import pytest

from bot.adapters.iceberg import PyIcebergCatalog
from bot.observation.errors import CommitRefused, OutcomeUnknown
from bot.observation.file_changes import FileSources, RowsOfFile
from bot.observation.ids import SnapshotId
from bot.ports import RowChange
from tests.catalogs.losing_proxy import LosingProxy, Loss
from tests.catalogs.orders import Orders
from tests.catalogs.test_every_catalog import BRANCH, MARK, branched, change_of, files_of, positions, rewind

pytestmark = pytest.mark.parametrize("kind", ["rest"])

LOST: tuple[Loss, ...] = (500, 502, 503, 504, "reset")


@pytest.mark.parametrize("loss", LOST, ids=str)
def test_a_lost_yes_is_unknown_and_found_on_the_table(
    orders: Orders, proxy: LosingProxy, through: PyIcebergCatalog, loss: Loss
) -> None:
    """The catalog applied it once; we say that we do not know, repeat nothing, and a look tells."""
    before = orders.ours.load(orders.name)
    change = rewind(before, orders.heads[0])
    proxy.losses.append(loss)

    with pytest.raises(OutcomeUnknown, match=r"not known.*Do not repeat"):
        through.commit(orders.name, change)

    now = through.load(orders.name)
    assert [200] == proxy.commits
    assert change.move_main_to == now.head
    assert before.head == now.ref("incident-1")


@pytest.mark.parametrize("loss", LOST, ids=str)
def test_a_lost_no_is_unknown_and_the_other_writers_commit_stays(
    orders: Orders, proxy: LosingProxy, through: PyIcebergCatalog, loss: Loss
) -> None:
    """The catalog refused it; not having heard so, we may not say that it did."""
    change = rewind(orders.ours.load(orders.name), orders.heads[0])
    unforeseen = orders.append(99)
    proxy.losses.append(loss)

    with pytest.raises(OutcomeUnknown):
        through.commit(orders.name, change)

    now = through.load(orders.name)
    assert [409] == proxy.commits
    assert unforeseen == now.head
    assert now.ref("incident-1") is None


def test_a_request_that_never_arrived_is_unknown_too(
    orders: Orders, proxy: LosingProxy, through: PyIcebergCatalog
) -> None:
    """A connection that is torn down while we wait tells nothing about the other side; the table does."""
    before = orders.ours.load(orders.name)
    change = rewind(before, orders.heads[0])
    proxy.losses.append("before")

    with pytest.raises(OutcomeUnknown):
        through.commit(orders.name, change)

    assert before.head == through.load(orders.name).head
    assert [] == proxy.commits


def test_a_lost_yes_that_is_asked_for_again_is_refused(
    orders: Orders, proxy: LosingProxy, through: PyIcebergCatalog
) -> None:
    """Even if somebody repeats the very same change: its head is gone, so nothing happens twice."""
    change = rewind(orders.ours.load(orders.name), orders.heads[0])
    proxy.losses.append("reset")
    with pytest.raises(OutcomeUnknown):
        through.commit(orders.name, change)
    after = through.load(orders.name)

    with pytest.raises(CommitRefused):
        through.commit(orders.name, change)

    assert after == through.load(orders.name)


Repair = Callable[[], SnapshotId]


@pytest.fixture(params=["files", "rows"])
def repair(request: pytest.FixtureRequest, orders: Orders, through: PyIcebergCatalog) -> Repair:
    """Takes the rows of a repeated commit off a branch, by its file or by their places."""
    again = orders.append(5, 6)
    base = branched(orders)
    if request.param == "files":
        change = change_of(orders, base, add=None, remove=FileSources(added_by=(again,)))
        return lambda: through.change_files(orders.name, change)
    entries = orders.table.inspect.entries(snapshot_id=again).to_pylist()
    [path] = [each["data_file"]["file_path"] for each in entries if each["snapshot_id"] == again]
    rows = RowChange(
        expected_uuid=orders.ours.load(orders.name).uuid, ref=BRANCH, expected_head=base,
        rows=(RowsOfFile(path=path, spans=((0, 1),)),), summary=MARK,
    )  # fmt: skip
    return lambda: through.delete_rows(orders.name, rows)


@pytest.mark.parametrize("is_overtaken", [False, True])
def test_a_repair_that_is_there_is_done_and_its_files_stay(
    orders: Orders, proxy: LosingProxy, repair: Repair, is_overtaken: bool
) -> None:
    """The table names its snapshot, also where main has gone on since: nothing of it may be deleted."""
    proxy.losses.append("twice")
    if is_overtaken:
        proxy.in_between = lambda: orders.append(7)

    made = repair()

    assert [200, 409] == proxy.commits
    assert made == orders.ours.load(orders.name).ref(BRANCH)
    assert [*range(1, 7)] == positions(orders, made)


def test_a_repair_of_which_nobody_can_look_is_unknown_and_its_files_stay(
    orders: Orders, proxy: LosingProxy, repair: Repair
) -> None:
    """The catalog goes away between its no and our look."""
    proxy.losses.append("twice")
    proxy.is_away_afterwards = True

    with pytest.raises(OutcomeUnknown, match=r"not known.*after the catalog answered CommitFailed.*Do not repeat"):
        repair()

    assert [*range(1, 7)] == positions(orders, orders.ours.load(orders.name).ref(BRANCH))


def test_a_repair_that_is_not_there_leaves_no_file(orders: Orders, proxy: LosingProxy, repair: Repair) -> None:
    """Somebody else's commit on main was first, both times."""
    base = orders.ours.load(orders.name).ref(BRANCH)
    proxy.before_commit = lambda: orders.append(7)
    proxy.losses.append("twice")
    before = files_of(orders)

    with pytest.raises(CommitRefused, match="nothing was changed"):
        repair()

    assert [409, 409] == proxy.commits
    assert base == orders.ours.load(orders.name).ref(BRANCH)
    written = {path.rpartition("/")[2] for path in files_of(orders) - before}
    assert 2 == len([name for name in written if name.endswith(".avro")]), written
    assert not [name for name in written if "waterline" in name]


@pytest.mark.parametrize("is_overtaken", [False, True])
def test_a_move_of_main_that_is_there_is_unknown_and_found_on_the_table(
    orders: Orders, proxy: LosingProxy, through: PyIcebergCatalog, is_overtaken: bool
) -> None:
    """Nothing tells our move from the same one of somebody else but the tag, at which the effect looks."""
    before = orders.ours.load(orders.name)
    change = rewind(before, orders.heads[0])
    proxy.losses.append("twice")
    if is_overtaken:
        proxy.in_between = lambda: orders.append(7)

    with pytest.raises(OutcomeUnknown, match=r"not known.*the table carries it.*Do not repeat"):
        through.commit(orders.name, change)

    now = orders.ours.load(orders.name)
    assert [200, 409] == proxy.commits
    assert change.move_main_to in {each.snapshot_id for each in now.chain[:2]}
    assert before.head == now.ref("incident-1")
