"""A saved case gives the same answer anywhere, and is read again from its sources."""

import json
import os
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from bot.adapters.case_rereading import read_again
from bot.adapters.case_sources import left_out_in_short, raw_of, read_case, sources_of, write_case
from bot.adapters.checkpoint_files import stored_as
from bot.adapters.checkpoint_parsing import Handle
from bot.adapters.clock import SystemClock
from bot.adapters.iceberg.catalog import PyIcebergCatalog
from bot.adapters.lineage_reading import kept_events
from bot.adapters.table_files import SCHEMA
from bot.bootstrap import build, failure_modes, files_of
from bot.cli import app
from bot.cli.diagnosing import save
from bot.cli.options import NobodyThere
from bot.diagnosis._examine import diagnose
from bot.domain.contract import TableContract
from bot.domain.diagnosis import Case, SavedCase
from bot.domain.errors import BadConfiguration
from bot.domain.flink import FlinkManifest, StoredCheckpoint
from bot.domain.ids import SnapshotId
from bot.domain.looked import NotSeen, Seen
from bot.domain.masking import Masking
from bot.domain.reads import ReadRun
from bot.domain.table import TableState, Window
from bot.settings import Settings
from tests.adapters.lake import ORDERS, Lake
from tests.adapters.serving import served
from tests.adapters.test_lineage import event, scanned
from tests.adapters.test_lineage_marquez import LittleMarquez
from tests.adapters.vended_s3 import BUCKET, VendedS3, s3
from tests.cases import NOON, Tale, job_id
from tests.terminal.real_cases import CASES, REAL, RUN, with_world

__all__ = ["s3"]


def _saved() -> SavedCase:
    """Run b was restored from below what run a had committed."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4).flink_runs("b", 2).commits("b", 3, 4, 5)
    case = tale.looked_at(duplicates=20)
    return SavedCase(
        saved_at=datetime(2026, 11, 21, tzinfo=UTC),
        version="0.1.0",
        case=case,
        diagnosis=diagnose(case, failure_modes()),
        left_out=(),
    )


def test_a_saved_case_gives_the_same_answer(tmp_path: Path) -> None:
    """Every mode says the very same of the case that was read back."""
    saved = _saved()
    write_case(tmp_path / "a.case", saved, {}, Masking())

    found = read_case(tmp_path / "a.case")

    assert "F2" in found.diagnosis.codes
    assert saved.diagnosis == diagnose(found.case, failure_modes())


def test_raw_sources_come_back_by_their_address(tmp_path: Path) -> None:
    """Two files of one name stay apart."""
    raw = {"file:/state/chk-1/_metadata": b"one", "file:/state/chk-2/_metadata": b"two", "http://flink/jobs/a/": b"{}"}
    write_case(tmp_path / "a.case", _saved(), raw, Masking())

    assert raw == raw_of(tmp_path / "a.case")


def test_an_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    """It may be the only trace of another incident."""
    (tmp_path / "a.case").write_text("mine")

    with pytest.raises(BadConfiguration, match="could not be written"):
        write_case(tmp_path / "a.case", _saved(), {}, Masking())

    assert "mine" == (tmp_path / "a.case").read_text()
    assert ["a.case"] == [each.name for each in tmp_path.iterdir()]


def test_a_file_that_is_there_is_told_before_anything_is_read(tmp_path: Path) -> None:
    """A diagnosis takes half a minute: nobody waits for it to hear that it cannot be kept."""
    (tmp_path / "a.case").write_text("mine")

    with pytest.raises(BadConfiguration, match="could not be written"):
        save("sales.orders", to=tmp_path / "a.case", config=tmp_path / "is-never-read.yaml")


def test_what_is_no_text_and_holds_a_secret_stays_behind(tmp_path: Path) -> None:
    """Nothing else of its length could stand there, so the whole source is left out, and that is said."""
    raw = {"file:/state/chk-1/_metadata": b"\0\1hunter-2222\0", "http://flink/": b'{"p": "hunter-2222"}'}

    write_case(tmp_path / "a.case", _saved(), raw, Masking(["hunter-2222"]))

    assert b"hunter" not in b"".join(raw_of(tmp_path / "a.case").values())
    assert {"http://flink/"} == set(raw_of(tmp_path / "a.case"))
    assert "chk-1/_metadata: it holds what looks like a secret" in read_case(tmp_path / "a.case").left_out[0]


def test_a_file_of_before_without_sources_is_read(tmp_path: Path) -> None:
    """What is not there is not missed."""
    with zipfile.ZipFile(tmp_path / "a.case", "w") as file:
        file.writestr("case.json", _saved().model_dump_json(exclude={"cut"}))

    assert {} == raw_of(tmp_path / "a.case")
    assert () == read_case(tmp_path / "a.case").cut


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut", b"{}"])
def test_another_file_is_not_taken_for_a_case(tmp_path: Path, content: bytes) -> None:
    """A wrong or cut file says what was expected."""
    (tmp_path / "a.case").write_bytes(content)

    with pytest.raises(BadConfiguration, match="is not a saved case"):
        read_case(tmp_path / "a.case")


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    """No traceback for a typing error."""
    with pytest.raises(BadConfiguration, match="FileNotFoundError"):
        read_case(tmp_path / "none.case")


def test_a_case_of_another_format_names_the_first_difference(tmp_path: Path) -> None:
    """A later format is refused, not half understood."""
    changed = _saved().model_dump_json().replace('"format":1', '"format":2', 1)
    with zipfile.ZipFile(tmp_path / "a.case", "w") as file:
        file.writestr("case.json", changed)

    with pytest.raises(BadConfiguration, match=r"found at format"):
        read_case(tmp_path / "a.case")


def _garbled(path: Path, packed: int) -> None:
    """Some bytes in the middle of what is packed are others."""
    with zipfile.ZipFile(path, "w", packed) as file:
        file.writestr("case.json", '{"a": 1}' * 5000)
    content = bytearray(path.read_bytes())
    content[50:60] = b"\xff" * 10
    path.write_bytes(content)


def _needs_password(path: Path) -> None:
    """By a flag at each of the file's two headers."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("case.json", "{}")
        file.writestr("raw/index.json", "{}")
    content = bytearray(path.read_bytes())
    for header, flags in ((b"PK\1\2", 8), (b"PK\3\4", 6)):
        at = content.find(header)
        while at >= 0:
            content[at + flags] |= 1
            at = content.find(header, at + 1)
    path.write_bytes(content)


@pytest.mark.parametrize(
    "spoil",
    [lambda path: _garbled(path, zipfile.ZIP_DEFLATED), lambda path: _garbled(path, zipfile.ZIP_LZMA), _needs_password],
    ids=["deflated", "lzma", "with a password"],
)
def test_a_file_that_cannot_be_unpacked_is_not_taken_for_a_case(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    """Said as of any other file, and not as a trace of Python."""
    spoil(tmp_path / "a.case")

    with pytest.raises(BadConfiguration, match="is not a saved case"):
        read_case(tmp_path / "a.case")


def test_sources_behind_a_password_are_said_to_be_unread(tmp_path: Path) -> None:
    """As those of a file that was cut off."""
    _needs_password(tmp_path / "a.case")

    with pytest.raises(BadConfiguration, match="The sources in"):
        raw_of(tmp_path / "a.case")


def test_an_index_that_is_too_large_is_not_unpacked(tmp_path: Path) -> None:
    """Some kilobytes of a file may claim a memory full of names."""
    with zipfile.ZipFile(tmp_path / "a.case", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("case.json", "{}")
        file.writestr("raw/index.json", b" " * (16 * 1024 * 1024) + b"{}")

    with pytest.raises(BadConfiguration, match="The sources in"):
        raw_of(tmp_path / "a.case")


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


CHECKPOINTS = Path(__file__).parents[1] / "adapters" / "fixtures" / "checkpoint_metadata"
JOBS = "http://flink:8081/jobs"


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

    assert f"{stored.path}/_metadata: no longer there" in sources.left_out
    assert b"{}" == sources.raw[f"{JOBS}/overview"]


def test_many_that_are_gone_are_told_in_a_line() -> None:
    """Flink deletes its manifests once they are committed: twenty lines of that hide the one that matters."""
    gone = [f"/flink/{number:05}.avro: no longer there" for number in range(20)]

    told = left_out_in_short([*gone, "/table/m0.avro: larger than 64 MiB"])

    assert told == (
        "/table/m0.avro: larger than 64 MiB",
        "20 files that are no longer there (Flink deletes its own once they are committed), the first "
        "/flink/00000.avro; the saved file names all",
    )


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

    assert [f"{name} is read as a Flink manifest only now"] == again.differences


def test_a_case_holds_no_file_that_lies_elsewhere_than_the_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever makes a `_metadata` chooses what it names, and a case goes to others."""
    (tmp_path / "job" / "shared").mkdir(parents=True)
    case, _ = at_a_restore_point(tmp_path / "job")
    secret, beside = tmp_path / "secret.txt", tmp_path / "job" / "shared" / "state-1"
    secret.write_text("not for others")
    beside.write_bytes(b"state")
    named = [
        Handle(size=5, file=str(beside)),
        Handle(size=14, file=str(secret)),
        Handle(size=14, file="../../secret.txt", is_relative=True),
    ]
    monkeypatch.setattr("bot.adapters.case_sources.understood_handles", lambda _operators, **_: named)

    sources = sources_of(case, {}, with_values=False)

    assert str(beside) in sources.raw
    assert not any(b"not for others" in content for content in sources.raw.values())
    assert sum("does not lie where Flink keeps such state" in told for told in sources.left_out) == 2


def test_a_case_holds_no_other_file_as_a_manifest_list(tmp_path: Path) -> None:
    """Whoever writes a table's metadata chooses what its snapshots name."""
    secret = tmp_path / "secret.txt"
    secret.write_text("not for others")
    case = lakes_case(tmp_path)
    table = case.observation.table
    snapshots = tuple(each.model_copy(update={"manifest_list": f"file://{secret}"}) for each in table.snapshots)
    named = with_world(case, table=table.model_copy(update={"snapshots": snapshots}))

    sources = sources_of(named, {}, with_values=False)

    assert not any(b"not for others" in content for content in sources.raw.values())
    assert any(f"{secret}: " in each for each in sources.left_out)


OF_FLINK = {"flink.job-id": job_id("a"), "flink.max-committed-checkpoint-id": "7"}


def seen(folder: Path, lake: Lake, tape: dict[str, bytes]) -> Case:
    """One look at the lake, as `case save` takes it."""
    content = {
        "home": str(folder / "home"),
        "catalog": {"name": "lake", "properties": dict(lake.properties)},
        "tables": {
            str(ORDERS): {"contract": {"key": ["order_id"]}, "policies": {"default": {"users": ["U0BEN00002"]}}}
        },
    }
    (folder / "waterline.yaml").write_text(json.dumps(content))
    settings = Settings.load(folder / "waterline.yaml")
    with build(settings, NobodyThere(), keep_record=False, tape=tape) as built:
        world = built.services.observer.observe(ORDERS)
    return Tale().commits("a", 1).looked_at().model_copy(update={"observation": world})


@pytest.fixture
def told(tmp_path: Path) -> tuple[Case, dict[str, bytes]]:
    """A look at a table to which Flink committed once, and the sources that a case of it holds."""
    lake, tape = Lake(tmp_path), dict[str, bytes]()
    lake.append(1, 2, 3, **OF_FLINK)
    case = seen(tmp_path, lake, tape)
    lake.close()
    return case, sources_of(case, tape, with_values=False).raw


def test_state_is_opened_as_the_settings_of_its_job_say(tmp_path: Path, s3: VendedS3) -> None:
    """The environment leads to no S3, and the table's own files lie elsewhere."""
    lake, savepoint = Lake(tmp_path), f"s3://{BUCKET}/savepoints/savepoint-082e96-1"
    content = (CHECKPOINTS / "v1_upsert_chk3__metadata").read_bytes()
    s3.puts(f"{savepoint}/_metadata", content)
    job = {"flink": "http://127.0.0.1:1", "savepoint_dir": f"s3://{BUCKET}/savepoints", "storage": s3.properties}
    table = {"job": "orders", "contract": {"key": ["order_id"]}, "policies": {"default": {"users": ["U0BEN00002"]}}}
    settings = {"home": str(tmp_path / "home"), "catalog": {"name": "lake", "properties": dict(lake.properties)}}
    config = tmp_path / "waterline.yaml"
    config.write_text(json.dumps({**settings, "jobs": {"orders": job}, "tables": {str(ORDERS): table}}))
    case, _ = at_a_restore_point(tmp_path)
    points = Seen[StoredCheckpoint](source="storage", values=(stored_as(content, savepoint, NOON, lambda _: None),))

    of_table, of_state = files_of(config, ORDERS)
    sources = sources_of(
        with_world(case, checkpoints=points), {}, with_values=True, of_table=of_table, of_state=of_state
    )
    lake.close()

    assert content == sources.raw[f"{savepoint}/_metadata"]


def test_what_the_job_wrote_last_is_read_and_kept(told: tuple[Case, dict[str, bytes]]) -> None:
    """Read again elsewhere, it says the same."""
    case, raw = told

    again = read_again(case, raw)

    (written,) = case.observation.written.values
    assert (written.told_by, written.checkpoint_id, written.restore_point) == ("committed-files", 7, None)
    assert ["order_id", "position"] == [column.name for column in written.columns]
    assert "1 schema of the job" in again.read
    assert [] == again.differences


def test_a_version_that_reads_it_otherwise_says_so(told: tuple[Case, dict[str, bytes]]) -> None:
    """And so does one that cannot read it."""
    case, raw = told
    address = next(source for source in raw if source.startswith(SCHEMA))
    other = raw[address].replace(b"position", b"offset")

    changed, broken = read_again(case, raw | {address: other}), read_again(case, raw | {address: b"{}"})

    assert "columns[1].name: recorded 'position', read now 'offset'" in changed.differences[0]
    assert "cannot be read now" in broken.differences[0]


def test_a_file_that_is_gone_is_not_known(tmp_path: Path) -> None:
    """The look itself goes on."""
    lake, tape = Lake(tmp_path), dict[str, bytes]()
    lake.append(1, 2, 3, **OF_FLINK)
    for file in tmp_path.rglob("*.parquet"):
        file.unlink()

    case = seen(tmp_path, lake, tape)

    lake.close()
    assert isinstance(case.observation.written, NotSeen)
    assert "No file of checkpoint 7 shows with which columns" in case.observation.written.reason
    assert not any(source.startswith(SCHEMA) for source in tape)
