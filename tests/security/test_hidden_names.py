"""Hidden columns by whatever name a value comes under: fields of a hidden struct."""

from types import SimpleNamespace
from typing import cast

import pytest

from bot.domain.contract import HIDDEN, TableContract
from bot.domain.partitions import PartitionField
from bot.domain.table import TableState
from spark_tasks._parted import parted_by

SECRET = "ACME"


@pytest.mark.parametrize("field", ["address", "address.city", "Address.City", "address.geo.lat"])
def test_a_hidden_struct_hides_its_fields_and_what_is_made_of_them(field: str) -> None:
    """A contract that classifies one field hides the struct, and tables are partitioned by such fields."""
    hides = TableContract(redacted=("address",))

    assert hides.hides(field)
    assert hides.veiled(f"data/{field}={SECRET}/1.parquet") == f"data/{field}={HIDDEN}/1.parquet"
    assert hides.veiled(f"data/{field}_trunc={SECRET}/1.parquet") == f"data/{field}_trunc={HIDDEN}/1.parquet"


@pytest.mark.parametrize("field", ["addresses.city", "home.address", "city"])
def test_a_name_that_only_looks_like_a_field_of_a_hidden_struct_is_shown(field: str) -> None:
    """The same letters elsewhere are another column."""
    hides = TableContract(redacted=("address", "customer.name"))

    assert not hides.hides(field)
    assert hides.veiled(f"data/{field}={SECRET}/1.parquet") == f"data/{field}={SECRET}/1.parquet"


def test_a_hidden_field_leaves_the_others_of_its_struct() -> None:
    """Only the field that is named is hidden, and what lies within it."""
    hides = TableContract(redacted=("address.city",))

    assert hides.hides("address.city")
    assert hides.hides("address.city.part")
    assert not hides.hides("address.street")
    assert not hides.hides("address")


def test_no_partition_by_a_field_of_a_hidden_struct_is_read_from_manifests() -> None:
    """The ledger and notices tell only what `parted_by` lists."""
    fields = tuple(PartitionField(words=name, name=name, type="string") for name in ("address.city", "region"))
    table = cast(TableState, SimpleNamespace(spec_fields={0: fields}))

    told = parted_by(table, TableContract(redacted=("address",)))

    assert ["region"] == [each.field.words for each in told]
