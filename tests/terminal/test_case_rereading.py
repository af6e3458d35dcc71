"""A saved case is read again from its sources, and where this version reads them otherwise, it says so."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from bot.adapters.case_file import raw_of, read_case, write_case
from bot.adapters.case_rereading import read_again
from bot.adapters.case_sources import sources_of
from bot.adapters.lineage_reading import kept_events
from bot.bootstrap import build
from bot.cli import app
from bot.cli.options import NobodyThere
from bot.domain.ids import SnapshotId
from bot.domain.looked import Seen
from bot.domain.masking import Masking
from bot.domain.reads import ReadRun
from bot.settings import Settings
from tests.adapters.lake import ORDERS, Lake
from tests.adapters.serving import served
from tests.adapters.test_lineage import event, scanned
from tests.adapters.test_lineage_marquez import LittleMarquez
from tests.cases import Tale
from tests.terminal.real_cases import CASES, REAL, RUN, with_world


@pytest.mark.parametrize("case", sorted(CASES.glob("restored-from-older-*.zip")), ids=lambda case: case.stem)
def test_this_version_reads_the_sources_of_real_cases_as_they_were_recorded(case: Path) -> None:
    """A parser that changes its mind about real bytes must be meant to."""
    again = read_again(read_case(case).case, raw_of(case))

    assert [] == again.differences
    assert "1 metadata file" in again.read
    assert any(each.endswith(("run", "runs")) for each in again.read)


def test_a_run_that_is_read_otherwise_is_told_with_both_values() -> None:
    """Flink's page says 3, the record says 4: one of the two versions is wrong."""
    saved, raw = read_case(REAL).case, raw_of(REAL)
    page = next(
        address for address, body in raw.items() if address.endswith("/checkpoints") and b'"restored":{' in body
    )
    body = json.loads(raw[page])
    body["latest"]["restored"]["id"] = 3

    again = read_again(saved, {**raw, page: json.dumps(body).encode()})

    assert 1 == len(again.differences)
    assert again.differences[0].endswith("restored.checkpoint_id: recorded 4, read now 3")
    assert 3 in {run.restored.checkpoint_id for run in again.observation.jobs.values if run.restored}


def test_the_terminal_says_what_is_read_otherwise_and_what_would_follow(tmp_path: Path) -> None:
    """The answer stays that of the record; whoever reads it is warned before it."""
    saved, raw = read_case(REAL), raw_of(REAL)
    page = next(address for address, body in raw.items() if _is_of_a_living_run(address, body))
    changed = {**raw, page: json.dumps({**json.loads(raw[page]), "state": "FAILED"}).encode()}
    write_case(tmp_path / "a.case", saved, changed, Masking())

    told = RUN.invoke(app, ["diagnose", "--case", str(tmp_path / "a.case")]).stdout
    as_json = json.loads(RUN.invoke(app, ["diagnose", "--case", str(tmp_path / "a.case"), "--json"]).stdout)

    assert "This version reads the same sources differently" in told
    assert "state: recorded 'RUNNING', read now 'FAILED'" in told
    assert "they give" in told
    assert ["F2"] == as_json["codes"]
    assert 1 == len(as_json["read_again"]["differences"])
    assert "codes" in as_json["read_again"]


def test_a_match_is_told_from_its_neighbours() -> None:
    """What it is easily taken for, and by what the two differ; not from one that holds beside it."""
    late = CASES / "restored-from-older-savepoint-v1.zip"

    one, two = (RUN.invoke(app, ["diagnose", "--case", str(case)]).stdout for case in (REAL, late))

    assert "   Not F3: " in one
    assert "   Not F13: " in one
    assert "Not F3:" not in two
    assert "Not F2:" not in two


def _is_of_a_living_run(address: str, body: bytes) -> bool:
    return "/jobs/" in address and json.loads(body).get("state") == "RUNNING"


def test_metadata_that_cannot_be_read_now_is_a_difference_and_no_crash() -> None:
    """The record still stands, so the case can be diagnosed."""
    saved, raw = read_case(REAL).case, raw_of(REAL)

    again = read_again(saved, {**raw, saved.observation.table.metadata_location: b'{"format-version": 2'})

    assert "the table's metadata cannot be read now" in again.differences[0]
    assert saved.observation.table == again.observation.table


def test_a_run_of_the_job_that_was_not_recorded_is_told() -> None:
    """A list of jobs that was read too short hides a second writer."""
    saved, raw = read_case(REAL).case, raw_of(REAL)
    page = next(address for address in raw if address.endswith("/jobs/overview"))
    body = json.loads(raw[page])
    body["jobs"].append({**body["jobs"][0], "jid": "f" * 32})

    again = read_again(saved, {**raw, page: json.dumps(body).encode()})

    assert ["run ffffff is listed as orders-to-iceberg and was not recorded"] == again.differences


def test_reads_are_told_from_the_kept_events(tmp_path: Path) -> None:
    """Events of other tables stay behind, and a read that the record does not know is a difference."""
    case = Tale().commits("a", 1).looked_at()
    table = case.observation.table
    read = ReadRun(consumer="report", run_id="r-1", at=table.read_at - timedelta(seconds=5), snapshot_id=SnapshotId(7))
    lines = [_event(read, table.name), _event(read, "sales.customers"), b"half"]
    (tmp_path / "events.jsonl").write_bytes(b"\n".join(lines))
    address, events = kept_events(tmp_path / "events.jsonl", "lake", table, table.read_at - timedelta(hours=1))
    worlds = [with_world(case, reads=Seen[ReadRun](source="lineage", values=told)) for told in ((read,), ())]

    again = [read_again(world, {address: events}) for world in worlds]

    assert b"customers" not in events
    assert [["1 read"]] * 2 == [each.read for each in again]
    assert [] == again[0].differences
    assert "by report" in again[1].differences[0]
    assert again[1].differences[0].endswith("is found only now")


def _event(read: ReadRun, dataset: str) -> bytes:
    scan = {"icebergScanReport": {"snapshotId": read.snapshot_id}}
    told = {
        "eventTime": read.at.isoformat(),
        "run": {"runId": read.run_id},
        "job": {"namespace": "n", "name": read.consumer},
        "inputs": [{"namespace": "lake", "name": dataset, "inputFacets": scan}],
    }
    return json.dumps(told).encode()


def test_what_marquez_told_is_kept_with_the_case(tmp_path: Path) -> None:
    """Who read what is read again from the file on a machine that reaches no Marquez."""
    lake, little = Lake(tmp_path), LittleMarquez()
    lake.append(1, 2, 3)
    scan = scanned({"namespace": "lake", "name": str(ORDERS)}, 7)
    little.is_sent(json.dumps({**json.loads(event(scan)), "eventTime": datetime.now(UTC).isoformat()}))
    tape: dict[str, bytes] = {}
    with served(Starlette(routes=[Route("/api/v1/events/lineage", little.answer)])) as url:
        settings = Settings.load(_configured(tmp_path, lake, url))
        with build(settings, NobodyThere(), keep_record=False, tape=tape) as built:
            world = built.services.observer.observe(ORDERS)
    lake.close()
    case = Tale().commits("a", 1).looked_at().model_copy(update={"observation": world})

    again = read_again(case, sources_of(case, tape, with_values=False).raw)

    assert [7] == [read.snapshot_id for read in world.reads.values]
    assert "1 read" in again.read
    assert [] == again.differences


def _configured(folder: Path, lake: Lake, marquez: str) -> Path:
    content = {
        "home": str(folder / "home"),
        "catalog": {"name": "lake", "properties": dict(lake.properties)},
        "lineage": {"marquez": marquez},
        "tables": {
            str(ORDERS): {"contract": {"key": ["order_id"]}, "policies": {"default": {"users": ["U0BEN00002"]}}}
        },
    }
    (folder / "waterline.yaml").write_text(json.dumps(content))
    return folder / "waterline.yaml"
