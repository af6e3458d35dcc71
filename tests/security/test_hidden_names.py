"""Hidden columns by whatever name a value comes under: fields of a hidden struct, and names that engines escape."""

from types import SimpleNamespace
from typing import cast
from urllib.parse import quote, quote_plus

import pytest
from pyiceberg.partitioning import PartitionField as IcebergField
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import NestedField, StringType

from bot.domain.contract import HIDDEN, TableContract
from bot.domain.table import PartitionField, TableState
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


@pytest.mark.parametrize("name", ["Kunde Name", "größe", "GRÖSSE (cm)", "customer#id", "a+b", "a=b", "100%", "顧客"])
@pytest.mark.parametrize("of", ["{}", "{}_trunc", "{}_bucket_16", "{}.teil"])
def test_a_name_is_hidden_however_an_engine_writes_it(name: str, of: str) -> None:
    """Iceberg escapes it as in a form, others as in an address, older writers not at all."""
    hides = TableContract(redacted=("region", name))
    written = of.format(name)

    for field in (quote_plus(written, safe=""), quote(written, safe="").lower(), written):
        told = hides.veiled(f"s3://lake/orders/data/day=2026-11-03/{field}={SECRET}/1.parquet")

        assert told == f"s3://lake/orders/data/day=2026-11-03/{field}={HIDDEN}/1.parquet"


def test_the_path_that_iceberg_itself_makes_is_hidden() -> None:
    """Not a form of ours: the library's own."""
    schema = Schema(NestedField(1, "Größe #1 in cm", StringType()))
    spec = PartitionSpec(IcebergField(1, 1000, IdentityTransform(), "Größe #1 in cm"))
    path = spec.partition_to_path(Record(SECRET), schema)

    told = TableContract(redacted=("GRÖßE #1 in cm",)).veiled(f"data/{path}/1.parquet")

    assert SECRET in path
    assert told.endswith(f"={HIDDEN}/1.parquet")


@pytest.mark.parametrize("field", ["Name", "Kunde+Name2", "My+Kunde+Name", "Kunde_Name", "KundeName", "Kunde.Name"])
def test_a_name_that_only_looks_like_the_hidden_one_is_shown(field: str) -> None:
    """A blank is no other character, and a part of a name no name."""
    path = f"data/{field}={SECRET}/1.parquet"

    assert TableContract(redacted=("Kunde Name",)).veiled(path) == path


def test_several_partitions_of_one_path_are_hidden_each() -> None:
    """What stands between them stays."""
    hides = TableContract(redacted=("Kunde Name", "customer"))

    told = hides.veiled(f"data/Kunde+Name={SECRET}/day=2026-11-03/customer_trunc=AC/1.parquet is gone.")

    assert told == f"data/Kunde+Name={HIDDEN}/day=2026-11-03/customer_trunc={HIDDEN}/1.parquet is gone."
