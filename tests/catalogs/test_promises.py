"""What is not promised is said, and what would lose a commit is refused."""

import pytest

from bot.adapters.iceberg.locks import refuse_unlocked
from bot.cli.catalog_promises import promise_of
from bot.domain.errors import CommitRefused
from bot.domain.ids import TableName

ORDERS = TableName("sales.orders")


def test_a_table_in_hive_whose_writers_take_no_lock_is_not_changed() -> None:
    """Their commit between our look and our write would be lost."""
    with pytest.raises(CommitRefused, match="commit without the metastore's lock"):
        refuse_unlocked(ORDERS, {"type": "hive"}, {"engine.hive.lock-enabled": "false"})


@pytest.mark.parametrize(
    ("kind", "properties"),
    [("hive", {}), ("hive", {"engine.hive.lock-enabled": "true"}), ("rest", {"engine.hive.lock-enabled": "false"})],
)
def test_any_other_table_is_left_to_its_catalog(kind: str, properties: dict[str, str]) -> None:
    """The lock is Hive's alone, and on by default."""
    refuse_unlocked(ORDERS, {"type": kind}, properties)


@pytest.mark.parametrize("kind", ["sql", "rest", "glue", "hive", "dynamodb"])
def test_each_kind_of_catalog_has_its_limits_told(kind: str) -> None:
    """`waterline doctor` says for each what holds and what does not."""
    holds, does_not = promise_of({"type": kind})

    assert holds
    assert does_not.endswith(".")
    assert ("not tried" in does_not.lower()) == (kind in {"hive", "dynamodb"})
