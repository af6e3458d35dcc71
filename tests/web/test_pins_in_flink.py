"""The pin for Flink, run on a real Flink while its job goes on committing."""

import time
from collections.abc import Callable

import httpx
import pytest
from pyiceberg.catalog import load_catalog

from bot.adapters.iceberg.streaming_metadata import table_state
from bot.incident.trust import TAG, pins_for
from bot.lab.home import LabState
from bot.observation.ids import SnapshotId, TableName
from tests.lab_fixtures import FreshLab


@pytest.mark.long
def test_flink_reads_the_trusted_snapshot(fresh_lab: FreshLab) -> None:
    """By its id and by the tag: as many rows as it had, however far the head has come."""
    state = fresh_lab("v2").state
    catalog = load_catalog(state.catalog_name, **state.catalog_properties)
    table = catalog.load_table(state.table)
    trusted = table.metadata.current_snapshot_id
    assert trusted is not None
    table.manage_snapshots().create_tag(trusted, TAG).commit()
    rows = table.scan(snapshot_id=trusted).to_arrow().num_rows
    _eventually(lambda: table.refresh().scan().to_arrow().num_rows > rows)
    now = table_state(TableName(state.table), table.metadata, table.metadata_location, state.started_at)
    pin = next(pin for pin in pins_for(now, SnapshotId(trusted)) if pin.engine == "Flink")
    catalog.close()

    counted = [_rows_of(state, text) for text in (pin.exact, pin.following or "")]

    assert [rows, rows] == counted


def _rows_of(state: LabState, query: str) -> int:
    """Asked of the SQL gateway, in a session whose current catalog is the lab's."""
    with httpx.Client(base_url=state.gateway_url, timeout=60) as http:
        opened = http.post("/v1/sessions", json={"properties": {"execution.runtime-mode": "batch"}}).json()
        session = f"/v1/sessions/{opened['sessionHandle']}"
        for statement in (state.start_statements[0], f"USE CATALOG {state.catalog_name}"):
            _result(http, session, statement)
        return _result(http, session, query)


def _result(http: httpx.Client, session: str, statement: str) -> int:
    """How many rows the statement answers."""
    asked = http.post(f"{session}/statements", json={"statement": statement}).raise_for_status().json()
    page = f"{session}/operations/{asked['operationHandle']}/result/0"
    found = 0
    while page:
        answer = http.get(page, params={"rowFormat": "JSON"}).raise_for_status().json()
        found += len(answer.get("results", {}).get("data", []))
        page = answer.get("nextResultUri", "").partition("?")[0] if answer["resultType"] != "EOS" else ""
        time.sleep(0.05)
    return found


def _eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "what was awaited did not come"
        time.sleep(0.2)
