"""A commit whose answer is lost between a real REST catalog and us: unknown, asked for once, and found by a look."""

import pytest

from bot.adapters.iceberg import PyIcebergCatalog
from bot.domain.errors import CommitRefused, OutcomeUnknown
from tests.catalogs.losing_proxy import LosingProxy, Loss
from tests.catalogs.orders import Orders
from tests.catalogs.test_every_catalog import rewind

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
