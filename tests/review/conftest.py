"""A record, a table whose contract is a file, and the review of an incident on it."""

from pathlib import Path

import pytest

from bot.adapters.journal_sql import Store
from tests.incidents import Story

CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: orders
version: 1.0.0
status: active
schema:
- name: orders                 # as the lake has it
  physicalName: sales.orders
  properties:
  - name: order_id
    physicalType: long
  - {name: amount, physicalType: "decimal(10, 2)"}   # gross
  - {name: source_position, physicalType: long}
slaProperties:
- {property: latency, value: 15, unit: minutes}
# reviewed each spring
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A contract that says less than the configuration, in two ways of writing."""
    path = tmp_path / "orders.odcs.yaml"
    path.write_text(CONTRACT, encoding="utf-8")
    return path


@pytest.fixture
def stories(record: Store) -> list[Story]:
    """Incidents of one record, not opened yet; the first is the oldest."""
    return [Story(record.journal) for _ in range(3)]
