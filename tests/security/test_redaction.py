"""Values of hidden columns are never shown: by policy, by the contract's classification, nor in a path."""

from pathlib import Path

import pytest

from bot.adapters.contracts import contract_of, merged
from bot.domain.contract import HIDDEN, TableContract
from bot.domain.evidence import Answer, Verdict
from bot.domain.ids import TableName
from bot.domain.looked import NotSeen
from bot.evidence._collector import veiled
from spark_tasks._words import shown

ORDERS = TableName("sales.orders")
CONTRACT = """
apiVersion: v3.1.0
kind: DataContract
id: orders
version: 1.0.0
status: active
schema:
- name: orders
  physicalName: sales.orders
  properties:
  - {{name: order_id, logicalType: string, primaryKey: true}}
  - {{name: customer, logicalType: string{classification}}}
  - name: address
    logicalType: object
    properties:
    - {{name: city, logicalType: string}}
    - {{name: street, logicalType: string{classification}}}
"""


def contract(folder: Path, classification: str | None) -> TableContract:
    """The contract of a file in which customer and street carry this classification."""
    said = "" if classification is None else f', classification: "{classification}"'
    path = folder / "orders.odcs.yaml"
    path.write_text(CONTRACT.format(classification=said))
    return contract_of(path, ORDERS)


@pytest.mark.parametrize("classification", ["restricted", "Confidential", "PII", "secret", "a word of our own"])
def test_any_classification_but_an_open_one_hides_the_column(tmp_path: Path, classification: str) -> None:
    """The standard names no list of words: one that Waterline does not know is taken for the strictest."""
    assert contract(tmp_path, classification).redacted == ("customer", "address")


@pytest.mark.parametrize("classification", [None, "public", "Internal", "open"])
def test_an_open_classification_hides_nothing(tmp_path: Path, classification: str | None) -> None:
    """What anybody in the company may see, responders may."""
    assert contract(tmp_path, classification).redacted == ()


def test_the_policy_adds_to_the_classification_and_an_empty_one_shows_all(tmp_path: Path) -> None:
    """Hiding one more column shows none that the contract hides."""
    filed = contract(tmp_path, "restricted")

    assert merged(TableContract(redacted=("order_id",)), filed).redacted == ("customer", "address", "order_id")
    assert merged(TableContract(redacted=()), filed).redacted == ()
    assert merged(TableContract(), filed).redacted == ("customer", "address")


@pytest.mark.parametrize("column", ["customer", "CUSTOMER", "Customer"])
def test_a_name_in_another_case_is_the_same_column(column: str) -> None:
    """Engines do not tell them apart, so neither does the policy."""
    assert shown(column, "ACME", TableContract(redacted=("customer",))) == HIDDEN


def test_no_part_of_an_answer_shows_the_partition_of_a_hidden_column() -> None:
    """Paths carry values of columns; what they carry of others stays."""
    path = "s3://lake/orders/data/day=2026-11-03/customer=ACME/00001.parquet"
    missing = NotSeen(source=path, reason=f"{path} is gone.", remedy="Look.")
    answer = Answer(
        verdict=Verdict.CONFIRMED,
        headline=f"File {path} cannot be read.",
        columns=("file",),
        rows=((path,),),
        sources=(path,),
        could_not_look=(missing,),
    )

    told = veiled(answer, TableContract(redacted=("Customer",))).model_dump_json()

    assert "ACME" not in told
    assert told.count(f"customer={HIDDEN}") == told.count("day=2026-11-03") == 5
