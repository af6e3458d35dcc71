"""Hive's metastore: a commit is compared under its lock, which every engine has to take.

Tried on a real metastore, with Iceberg's own Java catalog as the other engine.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from hive_metastore.ttypes import UnlockRequest
from pyiceberg.catalog.hive import HiveCatalog

from bot.adapters.iceberg import PyIcebergCatalog
from bot.observation.errors import CouldNotLook, OutcomeUnknown
from bot.ports import TableChange
from tests.adapters.conftest import StandingClock
from tests.adapters.serving import unused_address
from tests.catalogs.hive_metastore import Metastore
from tests.catalogs.losing_tcp import losing_tcp
from tests.catalogs.orders import Orders
from tests.catalogs.test_every_catalog import rewind

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("kind", ["hive"])]
IMPATIENT = {"lock-check-min-wait-time": "0.1", "lock-check-max-wait-time": "0.2", "lock-check-retries": "2"}


@contextmanager
def ours_with(properties: Mapping[str, str]) -> Iterator[PyIcebergCatalog]:
    """Our side with other properties."""
    made = PyIcebergCatalog("lake", properties, StandingClock())
    yield made
    made.close()


def tagged(orders: Orders, tag: str) -> TableChange:
    """A mark that leaves the head open."""
    return TableChange(
        expected_uuid=orders.ours.load(orders.name).uuid, expected_head=None, new_tags={tag: orders.heads[0]}
    )


def test_many_threads_ask_at_once(orders: Orders) -> None:
    """PyIceberg's own client has one connection, which each thread closes under the others."""
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda _: orders.ours.load(orders.name).head, range(80)))

    assert {orders.heads[-1]} == set(told)


def test_no_commit_of_java_and_none_of_ours_is_lost(orders: Orders, metastore: Metastore) -> None:
    """Both compare under one lock: what is overtaken is done again, and in the end everything is there."""
    theirs = metastore.table_of_java(orders.name)
    theirs.updateProperties().set("commit.retry.num-retries", "50").commit()
    tags = [f"mark-{number}" for number in range(8)]
    changes = {tag: tagged(orders, tag) for tag in tags}
    refused: list[str] = []

    def java_commits() -> None:
        for number in range(12):
            theirs.updateProperties().set(f"java-{number}", "1").commit()

    def we_commit() -> None:
        for change in changes.values():
            for _ in range(30):
                try:
                    orders.ours.commit(orders.name, change)
                    break
                except CouldNotLook as error:
                    refused.append(str(error))

    with ThreadPoolExecutor(2) as pool:
        for each in [pool.submit(java_commits), pool.submit(we_commit)]:
            each.result(timeout=120)

    now = orders.ours.load(orders.name)
    assert {f"java-{number}" for number in range(12)} <= now.properties.keys()
    assert set(tags) <= {ref.name for ref in now.refs}, refused


def test_a_rewind_is_what_java_reads_next(orders: Orders, metastore: Metastore) -> None:
    """And goes on from."""
    theirs = metastore.table_of_java(orders.name)
    before = orders.ours.load(orders.name)

    orders.ours.commit(orders.name, rewind(before, orders.heads[0]))

    theirs.refresh()
    assert orders.heads[0] == theirs.currentSnapshot().snapshotId()
    theirs.newAppend().commit()
    assert orders.heads[0] == orders.table.metadata.snapshots[-1].parent_snapshot_id


def test_a_lock_that_a_dead_writer_left_is_waited_for_and_named(orders: Orders) -> None:
    """Nothing is changed meanwhile; with the lock gone the same change goes through."""
    assert isinstance(orders.catalog, HiveCatalog)
    namespace, _, table = orders.name.rpartition(".")
    with orders.catalog._client as client:
        held = client.lock(orders.catalog._create_lock_request(namespace, table))
    change = rewind(orders.ours.load(orders.name), orders.heads[0])

    with ours_with({**orders.properties, **IMPATIENT}) as impatient:
        with pytest.raises(CouldNotLook, match=r"somebody else holds its lock.*hive\.txn\.timeout"):
            impatient.commit(orders.name, change)
        left = impatient.load(orders.name)
        with orders.catalog._client as client:
            client.unlock(UnlockRequest(lockid=held.lockid))
        after = impatient.commit(orders.name, change)

    assert (change.expected_head, None) == (left.head, left.ref("incident-1"))
    assert orders.heads[0] == after.head


def test_a_lost_yes_is_unknown_and_found_on_the_table(orders: Orders) -> None:
    """The metastore has altered the table, and we do not hear of it."""
    where = urlsplit(orders.properties["uri"])
    change = rewind(orders.ours.load(orders.name), orders.heads[0])
    with losing_tcp(str(where.hostname), int(where.port or 0)) as proxy:
        proxy.loses = b"alter_table"
        with ours_with({**orders.properties, "uri": f"thrift://127.0.0.1:{proxy.port}"}) as through:
            with pytest.raises(OutcomeUnknown, match=r"not known.*Do not repeat"):
                through.commit(orders.name, change)

            assert 1 == proxy.lost
            assert change.move_main_to == through.load(orders.name).head


def test_of_several_addresses_the_one_that_answers_is_asked(orders: Orders) -> None:
    """As Hive's own clients do."""
    dead = unused_address().replace("http:", "thrift:")
    with ours_with({**orders.properties, "uri": f"{dead}, {orders.properties['uri']}"}) as both:
        assert orders.heads[-1] == both.load(orders.name).head
