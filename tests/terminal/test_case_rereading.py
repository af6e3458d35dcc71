"""A saved case is read again from its sources, and where this version reads them otherwise, it says so."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from typer.testing import CliRunner

from bot.adapters.case_file import raw_of, read_case, write_case
from bot.adapters.case_rereading import read_again
from bot.adapters.case_sources import sources_of
from bot.adapters.checkpoint_files import stored_as
from bot.adapters.clock import SystemClock
from bot.adapters.iceberg.catalog import PyIcebergCatalog
from bot.adapters.lineage_kept import kept_events
from bot.bootstrap import build
from bot.cli import app
from bot.cli.nobody import NobodyThere
from bot.domain.contract import TableContract
from bot.domain.diagnosis import Case
from bot.domain.flink import FlinkManifest, StoredCheckpoint
from bot.domain.ids import SnapshotId
from bot.domain.looked import Seen
from bot.domain.masking import Masking
from bot.domain.reads import ReadRun
from bot.domain.table import TableState, Window
from bot.settings import Settings
from tests.adapters.lake import ORDERS, Lake
from tests.adapters.serving import served
from tests.adapters.test_lineage import event, scanned
from tests.adapters.test_lineage_marquez import LittleMarquez
from tests.cases import NOON, Tale

RUN = CliRunner()
CASES = Path(__file__).parents[1] / "data" / "cases"
CHECKPOINTS = Path(__file__).parents[1] / "adapters" / "fixtures" / "checkpoint_metadata"
REAL = CASES / "restored-from-older-savepoint-v2.zip"
JOBS = "http://flink:8081/jobs"


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
    assert "As it reads them now they give" in told
    assert ["F2"] == as_json["codes"]
    assert 1 == len(as_json["read_again"]["differences"])
    assert "codes" in as_json["read_again"]


def test_a_match_is_told_from_its_neighbours() -> None:
    """What it is easily taken for, and by what the two differ; not from one that holds beside it."""
    late = CASES / "restored-from-older-savepoint-v1.zip"

    one, two = (RUN.invoke(app, ["diagnose", "--case", str(case)]).stdout for case in (REAL, late))

    assert "   Told from F3: There commits stay out" in one
    assert "   Told from F13: There the older run commits on" in one
    assert "Told from F3" not in two
    assert "Told from F2:" not in two


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


def at_a_restore_point(folder: Path) -> tuple[Case, StoredCheckpoint]:
    """A case whose one savepoint is a real file below `folder`."""
    savepoint = folder / "savepoint-082e96-1"
    savepoint.mkdir()
    content = (CHECKPOINTS / "v1_upsert_chk3__metadata").read_bytes()
    (savepoint / "_metadata").write_bytes(content)
    stored = stored_as(content, str(savepoint), NOON, lambda _: None)
    case = Tale().flink_runs("a").commits("a", 1, 2).looked_at()
    points = Seen[StoredCheckpoint](source="storage", values=(stored,))
    return with_world(case, checkpoints=points, table=moved(case.observation.table, folder)), stored


def moved(table: TableState, folder: Path) -> TableState:
    """The same table on a disk where none of its files are: no S3 is waited for."""
    snapshots = tuple(s.model_copy(update={"manifest_list": f"file:{folder}/gone.avro"}) for s in table.snapshots)
    place = {"location": f"file:{folder}", "metadata_location": f"file:{folder}/metadata/9.metadata.json"}
    own = {name: getattr(table, name) for name in TableState.model_fields}  # without the chain that was walked already
    return TableState.model_validate({**own, **place, "snapshots": snapshots})


def with_world(case: Case, **seen: object) -> Case:
    """The same case over another look at the world."""
    return case.model_copy(update={"observation": case.observation.model_copy(update=seen)})


def test_a_checkpoint_is_read_again_from_the_saved_file_also_when_cut(tmp_path: Path) -> None:
    """The very bytes that were parsed are in the file, without the rows in them: the same comes of both."""
    case, stored = at_a_restore_point(tmp_path)
    kept = [sources_of(case, {}, with_values=asked) for asked in (False, True)]

    again = [read_again(case, sources.raw) for sources in kept]

    assert [[f"{stored.path}/_metadata"], []] == [sources.cut for sources in kept]
    assert ["1 restore point"] * 2 == [each.read[0] for each in again]
    assert [[]] * 2 == [each.differences for each in again]


def test_a_checkpoint_that_was_parsed_otherwise_is_told(tmp_path: Path) -> None:
    """An older version that found no pending manifest would be caught by this one."""
    case, stored = at_a_restore_point(tmp_path)
    sources = sources_of(case, {}, with_values=False)
    blind = stored.model_copy(update={"pending_manifests": ()})
    recorded = with_world(case, checkpoints=Seen[StoredCheckpoint](source="storage", values=(blind,)))

    again = read_again(recorded, sources.raw)

    assert [f"restore point {stored.path}, pending_manifests: recorded 0 items, read now 2 items"] == again.differences
    assert stored.pending_manifests == again.observation.checkpoints.values[0].pending_manifests


def test_a_checkpoint_that_changed_since_is_left_out_and_said(tmp_path: Path) -> None:
    """Other bytes than those that were parsed would accuse the wrong version."""
    case, stored = at_a_restore_point(tmp_path)
    (Path(stored.path) / "_metadata").write_bytes(b"another")

    sources = sources_of(case, {}, with_values=True)

    assert {} == {source: content for source, content in sources.raw.items() if "_metadata" in source}
    assert f"{stored.path}/_metadata: changed since it was observed" in sources.left_out


def test_a_source_that_is_gone_is_left_out_with_the_reason(tmp_path: Path) -> None:
    """That may be the very fault; nothing is raised."""
    case, stored = at_a_restore_point(tmp_path)
    (Path(stored.path) / "_metadata").unlink()

    sources = sources_of(case, {f"{JOBS}/overview": b"{}"}, with_values=False)

    assert f"{stored.path}/_metadata: FileNotFoundError" in sources.left_out
    assert b"{}" == sources.raw[f"{JOBS}/overview"]


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


def test_manifests_are_held_against_what_spark_had_counted(tmp_path: Path) -> None:
    """The ledger's figures come of these very files, so they can be counted again anywhere."""
    case = lakes_case(tmp_path)
    sources = sources_of(case, {}, with_values=False)
    assert case.ledger is not None
    rows = tuple(row.model_copy(update={"added_rows": row.added_rows + 1}) for row in case.ledger.rows)
    wrong = case.model_copy(update={"ledger": case.ledger.model_copy(update={"rows": rows})})

    right, told = read_again(case, sources.raw), read_again(wrong, sources.raw)

    assert ["1 metadata file", "2 manifest lists", "2 manifests"] == right.read
    assert [] == right.differences
    assert 2 == len(told.differences)
    assert all("added rows, its manifests hold" in each for each in told.differences)


def lakes_case(folder: Path) -> Case:
    """Two commits of a real table, and the ledger as Spark would have counted it."""
    lake = Lake(folder)
    lake.append(1, 2, 3)
    lake.append(4)
    catalog = PyIcebergCatalog("lake", lake.properties, SystemClock())
    state = catalog.load(ORDERS)
    catalog.close()
    lake.close()
    case = with_world(Tale().commits("a", 1, 2).looked_at(), table=state)
    assert case.ledger is not None
    counted = tuple(
        row.model_copy(update={"snapshot_id": commit.snapshot_id, "added_files": 1, "added_rows": added})
        for row, commit, added in zip(case.ledger.rows, state.snapshots, (3, 1), strict=True)
    )
    return case.model_copy(
        update={
            "ledger": case.ledger.model_copy(update={"rows": counted}),
            "window": Window(since=None, until=state.head),
            "contract": TableContract(position="position"),
        }
    )


def test_a_name_that_was_not_taken_for_a_flink_manifest_is_told(tmp_path: Path) -> None:
    """The very names are in the file, so a form that an older version did not know shows."""
    case = lakes_case(tmp_path)
    table = case.observation.table
    name = f"{'a' * 32}-{'b' * 32}-00000-0-7-00001.avro"
    waiting = Path(table.location.removeprefix("file://")) / "metadata" / name
    waiting.write_bytes(b"of the sink")
    a_minute_before = (table.read_at - timedelta(minutes=1)).timestamp()
    os.utime(waiting, (a_minute_before, a_minute_before))
    unseen = with_world(case, flink_manifests=Seen[FlinkManifest](source="storage", values=()))
    sources = sources_of(unseen, {}, with_values=False)

    again = read_again(unseen, sources.raw)

    assert [f"{name} is told as a Flink manifest only now"] == again.differences
