"""A run's last commit stays as long as some branch or tag says, and branches and tags may have an end."""

from datetime import timedelta

import pytest

from bot.domain.contract_terms import kept_for, least_kept
from bot.domain.ids import SnapshotId
from bot.domain.table import Ref
from spark_tasks.table_health import last_commits
from tests.evidence.kept_tables import DAY, at
from tests.tables import ORDERS, OrdersTable, rows

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


def below_the_head(orders: OrdersTable) -> tuple[SnapshotId, SnapshotId]:
    """(The last commit of run `a`, another writer's above it)."""
    orders.commits("a", 1, range(10))
    return orders.commits("a", 2, range(10, 20)), orders.appends(rows(range(20, 30)))


def left(orders: OrdersTable, later: timedelta = timedelta(0)) -> tuple[bool, int | None]:
    """(Whether the last commit of run `a` stays for ever, else its hours, rounded), asked so much later."""
    ask = at(orders.ask(None), later)
    [last] = last_commits(ask, ask.observation.table.chain)
    return last.is_protected, None if last.expires_within_s is None else round(last.expires_within_s / 3600)


def test_without_a_word_of_its_own_main_follows_the_table(orders: OrdersTable) -> None:
    """Five days are Iceberg's default."""
    below_the_head(orders)

    assert left(orders) == (False, 120)


@pytest.mark.parametrize(
    ("age_ms", "told"), [(None, (True, None)), (2**63 - 1, (True, None)), (9 * DAY_MS, (False, 216))]
)
def test_a_tag_keeps_the_commit_until_its_own_end(
    orders: OrdersTable, age_ms: int | None, told: tuple[bool, int | None]
) -> None:
    """RETAIN 9 DAYS: then expiry drops the tag, and the commit with it."""
    last, _ = below_the_head(orders)
    orders.catalog.load_table(ORDERS).manage_snapshots().create_tag(last, "keep", max_ref_age_ms=age_ms).commit()

    assert left(orders) == told


def test_a_tag_that_ends_before_the_table_would_expire_keeps_nothing_longer(orders: OrdersTable) -> None:
    """RETAIN 1 DAYS on a table that keeps five; and nothing is left when both are over."""
    last, _ = below_the_head(orders)
    orders.catalog.load_table(ORDERS).manage_snapshots().create_tag(last, "keep", max_ref_age_ms=DAY_MS).commit()

    assert (left(orders), left(orders, 6 * DAY)) == ((False, 120), (False, 0))


def test_the_tables_rule_for_tags_holds_for_those_without_one(orders: OrdersTable) -> None:
    """`history.expire.max-ref-age-ms` drops every tag of that age."""
    last, _ = below_the_head(orders)
    orders.tags("keep", last)
    orders.sets({"history.expire.max-ref-age-ms": str(7 * DAY_MS)})

    assert left(orders) == (False, 168)


def test_mains_own_retention_goes_before_the_tables(orders: OrdersTable) -> None:
    """WITH SNAPSHOT RETENTION 1 SNAPSHOTS 1 HOURS, whatever the table's properties say."""
    _, head = below_the_head(orders)
    orders.sets({"history.expire.min-snapshots-to-keep": "50"})
    change = orders.catalog.load_table(ORDERS).manage_snapshots()
    change.create_branch(head, "main", max_snapshot_age_ms=HOUR_MS, min_snapshots_to_keep=1).commit()

    assert left(orders) == (False, 1)
    assert (kept_for(orders.state()), least_kept(orders.state())) == (timedelta(hours=1), 1)


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ({"min_snapshots": 2}, (True, None)),
        ({"max_snapshot_age_ms": 9 * DAY_MS}, (False, 216)),
        ({"max_snapshot_age_ms": 9 * DAY_MS, "max_ref_age_ms": 6 * DAY_MS}, (False, 144)),
    ],
)
def test_a_branch_keeps_what_lies_below_its_head_by_its_own_rules(
    orders: OrdersTable, rules: dict[str, int], told: tuple[bool, int | None]
) -> None:
    """As many as it is to keep, or as long, and no longer than it stays itself."""
    _, head = below_the_head(orders)
    orders.appends(rows(range(30, 40)))
    ask = orders.ask(None)
    branch = Ref(name="audit", kind="branch", snapshot_id=head, **rules)
    ask = at(ask, timedelta(0), refs=(*ask.observation.table.refs, branch))

    [last] = last_commits(ask, ask.observation.table.chain)

    hours = None if last.expires_within_s is None else round(last.expires_within_s / 3600)
    assert (last.is_protected, hours) == told


def test_a_ref_without_rules_is_stored_as_it_always_was() -> None:
    """Old cases load, and their digests stay."""
    plain = Ref(name="main", kind="branch", snapshot_id=SnapshotId(7))

    assert plain.model_dump(mode="json") == {"name": "main", "kind": "branch", "snapshot_id": 7}
    assert Ref.model_validate(plain.model_dump()) == plain
