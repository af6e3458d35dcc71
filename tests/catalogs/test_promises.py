"""What is not promised is said, and what would lose a commit is refused."""

import sys

import pytest

from bot.adapters.clock import SystemClock
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.iceberg.backends import refuse_unlocked
from bot.observation.errors import CommitRefused, CouldNotLook
from bot.observation.ids import TableName

pytestmark = pytest.mark.smoke

ORDERS = TableName("sales.orders")


def is_refused(kind: str, properties: dict[str, str]) -> bool:
    """Whether a change of such a table is refused for want of a lock."""
    try:
        refuse_unlocked(ORDERS, {"type": kind}, properties)
    except CommitRefused:
        return True
    return False


def test_a_table_in_hive_whose_writers_take_no_lock_is_not_changed() -> None:
    """Their commit between our look and our write would be lost."""
    for catalog in ({"type": "hive"}, {"uri": "thrift://metastore:9083"}):
        with pytest.raises(CommitRefused, match="commit without the metastore's lock"):
            refuse_unlocked(ORDERS, catalog, {"engine.hive.lock-enabled": "false"})


@pytest.mark.parametrize(
    ("kind", "properties"),
    [("hive", {}), ("hive", {"engine.hive.lock-enabled": "true"}), ("rest", {"engine.hive.lock-enabled": "false"})],
)
def test_any_other_table_is_left_to_its_catalog(kind: str, properties: dict[str, str]) -> None:
    """The lock is Hive's alone, and on by default."""
    assert not is_refused(kind, properties)


@pytest.mark.parametrize(
    ("properties", "package", "extra"),
    [
        ({"type": "hive", "uri": "thrift://localhost:9083"}, "thrift", "hive"),
        ({"type": "glue"}, "boto3", "glue"),
        ({"type": "rest", "uri": "http://localhost:1", "rest.sigv4-enabled": "true"}, "boto3", "rest-sigv4"),
    ],
)
def test_a_catalog_whose_client_is_not_installed_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, properties: dict[str, str], package: str, extra: str
) -> None:
    """To a responder, and to `waterline doctor`; nothing is asked over the network."""
    monkeypatch.setitem(sys.modules, package, None)
    catalog = PyIcebergCatalog("lake", properties, SystemClock())

    with pytest.raises(CouldNotLook) as told:
        catalog.load(ORDERS)

    assert "a package that it needs is not installed" in told.value.happened
    assert f"its extra “{extra}”" in told.value.found
    assert f"pip install 'pyiceberg[{extra}]'" in told.value.remedy
