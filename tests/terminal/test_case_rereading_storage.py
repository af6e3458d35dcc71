"""Checkpoints and manifests of a saved case are read again from the very bytes; what changed since is left out."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from bot.adapters.case_rereading import read_again
from bot.adapters.case_sources import left_out_in_short, sources_of
from bot.adapters.checkpoint_files import stored_as
from bot.adapters.checkpoint_parsing import Handle
from bot.adapters.clock import SystemClock
from bot.adapters.iceberg.catalog import PyIcebergCatalog
from bot.domain.contract import TableContract
from bot.domain.diagnosis import Case
from bot.domain.flink import FlinkManifest, StoredCheckpoint
from bot.domain.looked import Seen
from bot.domain.table import TableState, Window
from tests.adapters.lake import ORDERS, Lake
from tests.cases import NOON, Tale
from tests.terminal.real_cases import with_world

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
