"""Restore points whose state lies in files of its own, or whose manifests lie elsewhere."""

import re
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from pyarrow.fs import FileSystem, LocalFileSystem
from pyiceberg.table.metadata import TableMetadataUtil

from bot.adapters import checkpoint_files
from bot.adapters.checkpoint_files import CheckpointFiles, StateFiles
from bot.adapters.checkpoint_parsing import Handle, ParsedMetadata, StateFile, told_by
from bot.adapters.iceberg.streaming_metadata import table_state
from bot.history.restore import pairing
from bot.observation.errors import NotThere
from bot.observation.findings import Pairing, PairVerdict
from bot.observation.flink import StoredCheckpoint, folder_of_manifests, owed_to
from bot.observation.ids import JobId
from bot.observation.looked import NotSeen
from bot.observation.table import TableState
from tests.adapters.test_checkpoint_parsing import COMMITTER_V1_120, V1_120, recorded
from tests.evidence.restore_points import FIXTURES, NOON
from tests.tables import ORDERS

FOLDER = Path(__file__).parent / "fixtures" / "checkpoint_state"
JOB = "orders-to-iceberg"
RUNS = {
    "flink21": JobId("ff1d6d02199c53810c20a479d76dd60a"),
    "flink120": JobId("f7c1b86ff38440742e968773815d6f87"),
}
"""Each was started from the last checkpoint of another and left its 5 and 8, no piece of their state inline."""
WHERE_FLINK_WROTE = b"file:/tmp/waterline-matrix/lab/checkpoints/"
_PATH = re.compile(rb"..(" + WHERE_FLINK_WROTE + rb"[\w/.-]+)", re.DOTALL)


class Retained:
    """The folder of checkpoints of one such run, where Flink wrote it or moved."""

    def __init__(self, root: Path, flink: str) -> None:
        self.root = root
        self.run = root / RUNS[flink]
        self.files = CheckpointFiles(str(root), None)
        with tarfile.open(FOLDER / f"{flink}_rocksdb.tar.xz") as kept:
            kept.extractall(root)  # noqa: S202 - a file of our own

    def as_if_written_here(self) -> None:
        """What is shared is named by its whole path."""
        self.as_if_written_at(self.root)

    def as_if_written_at(self, root: Path) -> None:
        """The same below this folder; Java writes the length before a path."""
        here = f"file:{root}/".encode()

        def moved(found: re.Match[bytes]) -> bytes:
            path = found[1].replace(WHERE_FLINK_WROTE, here)
            return len(path).to_bytes(2, "big") + path

        for metadata in self.run.glob("chk-*/_metadata"):
            metadata.write_bytes(_PATH.sub(moved, metadata.read_bytes()))

    def told(self) -> dict[int, StoredCheckpoint]:
        """Checkpoint id -> what is read of it."""
        return {each.checkpoint_id or 0: each for each in self.files.stored(JOB, [])}

    def problems(self) -> dict[int, str | None]:
        """Checkpoint id -> why nothing may be restored from it."""
        return {each: told.problem for each, told in self.told().items()}

    def only_of_8(self, run: Path | None = None) -> Path:
        """A shared file that 8 needs and 5 does not; `run`: whose folder it lies in."""
        old, new = ((self.run / f"chk-{each}" / "_metadata").read_bytes() for each in (5, 8))
        return next(
            f for f in ((run or self.run) / "shared").iterdir() if f.name.encode() in new and f.name.encode() not in old
        )


@pytest.fixture(params=list(RUNS))
def retained(request: pytest.FixtureRequest, tmp_path: Path) -> Retained:
    """As Flink left it, all files there."""
    kept = Retained(tmp_path, str(request.param))
    kept.as_if_written_here()
    return kept


def test_a_point_whose_files_are_all_there_has_no_problem(retained: Retained) -> None:
    """Its committer's state is read where it lies, and the restored writer's empty list does not stand against it."""
    told = retained.told()

    assert {each: (one.problem, one.is_committer_read) for each, one in told.items()} == {
        5: (None, True),
        8: (None, True),
    }
    assert all(one.pending_manifests and one.job_id == retained.run.name for one in told.values())


def test_a_shared_file_that_is_gone_ends_the_checkpoints_that_need_it(retained: Retained) -> None:
    """Flink 2.1 restarts for ever from such a one (tried on a real cluster)."""
    gone = retained.only_of_8()
    gone.unlink()

    problems = retained.problems()

    assert problems[5] is None
    assert problems[8] is not None
    assert f"is gone or cut off, the first file:{gone}: Flink cannot start from it." in problems[8]
    assert retained.files.read(str(retained.run / "chk-8")).problem == problems[8]


def test_a_file_that_is_cut_off_is_as_good_as_gone(retained: Retained) -> None:
    """A copy that broke off, or a disk that was full."""
    short = retained.only_of_8()
    short.write_bytes(short.read_bytes()[:-1])

    assert "gone or cut off" in str(retained.problems()[8])


def test_all_that_the_run_shares_is_gone(retained: Retained) -> None:
    """A rule of the storage that deletes by age knows nothing of incremental checkpoints."""
    shutil.rmtree(retained.run / "shared")

    problems = retained.problems()

    assert all("are gone or cut off" in str(problem) for problem in problems.values())


def test_a_file_beside_the_metadata_is_looked_for_too(retained: Retained) -> None:
    """State of its own lies in the checkpoint's folder."""
    own = next(file for file in (retained.run / "chk-5").iterdir() if file.name != "_metadata")
    own.unlink()

    problems = retained.problems()

    assert "1 of the " in str(problems[5])
    assert problems[8] is None


def test_what_flink_names_below_another_folder_is_not_missed(tmp_path: Path) -> None:
    """The bot may have the storage mounted elsewhere: then a shared file's path is nothing here."""
    kept = Retained(tmp_path, "flink21")
    shutil.rmtree(kept.run / "shared")

    assert kept.problems() == {5: None, 8: None}


class Unlistable:
    """A storage that gives what is asked for by name, and lists nothing."""

    type_name = "s3"

    def get_file_info(self, _asked: object) -> None:
        """Refused."""
        raise PermissionError("ListObjectsV2: AccessDenied")


def test_a_folder_that_cannot_be_listed_tells_nothing(retained: Retained) -> None:
    """Where the rights are for reading alone, a point is no worse than it was."""
    folder = f"state/{retained.run.name}/chk-8"
    point = retained.told()[8].model_copy(update={"path": f"s3://{folder}"})
    state = StateFiles(())

    named = told_by((retained.run / "chk-8" / "_metadata").read_bytes()).state_files
    state.note(cast("FileSystem", Unlistable()), folder, named)

    assert named
    assert state.judged(point) == point


@pytest.mark.parametrize(("length", "is_whole"), [(9, False), (10, True)])
def test_of_several_pieces_in_one_file_the_last_is_needed(retained: Retained, length: int, *, is_whole: bool) -> None:
    """Flink may merge pieces of many checkpoints into one file, and names them in any order."""
    folder = retained.run / "chk-8"
    (folder / "merged").write_bytes(bytes(length))
    pieces = [StateFile("merged", is_relative=True, end=end) for end in (4, 10, 7)]
    state = StateFiles(())

    state.note(LocalFileSystem(), str(folder), pieces)

    judged = state.judged(retained.told()[8])
    assert judged is not None
    assert (judged.problem is None) == is_whole


def deletes_8_once_listed(retained: Retained, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flink does, between our reading of `_metadata` and our look at the files."""
    real = checkpoint_files._listed

    def deletes_8(files: FileSystem, folder: str) -> dict[str, int | None] | None:
        shutil.rmtree(retained.run / "chk-8", ignore_errors=True)
        return real(files, folder)

    monkeypatch.setattr(checkpoint_files, "_listed", deletes_8)


def test_what_flink_deletes_while_we_look_is_passed_over(retained: Retained, monkeypatch: pytest.MonkeyPatch) -> None:
    """A newer checkpoint has replaced it: its `_metadata` went first, and then what it alone needed."""
    deletes_8_once_listed(retained, monkeypatch)

    assert retained.problems() == {5: None}


def test_one_that_is_deleted_while_it_is_read_is_not_there(retained: Retained, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for a point that is asked for by its path."""
    deletes_8_once_listed(retained, monkeypatch)

    with pytest.raises(NotThere):
        retained.files.read(str(retained.run / "chk-8"))


def test_each_folder_is_listed_once_a_look(retained: Retained, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand shared files of twenty checkpoints are not asked for one by one."""
    listed: list[str] = []
    real = checkpoint_files._listed
    monkeypatch.setattr(checkpoint_files, "_listed", lambda files, folder: listed.append(folder) or real(files, folder))

    retained.told()

    assert sorted(Path(each).name for each in listed) == ["chk-5", "chk-8", "shared"]


STOPPED = "v1_stop_savepoint__metadata"
OWN = b"/lake/warehouse/tbl/v1d/metadata/"
NAME = f"{V1_120}-{COMMITTER_V1_120}-00000-0-8-00008.avro"


def moved(to: str) -> bytes:
    """A real stop-savepoint whose one pending manifest lies in another folder, of the same length as the real one."""
    assert len(to) == len(OWN)
    content = recorded(STOPPED)
    assert content.count(OWN) == 1
    return content.replace(OWN, to.encode())


ELSEWHERE = "/lake/warehouse/flink-manifest/a/"
ANOTHER_TABLES = "/lake/warehouse/tbl/v9d/metadata/"
AT_A_ROOT = "/lake/warehouse/flink-manifest-a/"


def without_its_commit(**properties: str) -> TableState:
    """The table that the run wrote, before its last commit: what savepoint 8 holds has not reached it."""
    metadata = TableMetadataUtil.parse_raw((FIXTURES / "v1d.metadata.json").read_text(encoding="utf-8"))
    whole = table_state(ORDERS, metadata, f"{OWN.decode()}v7.metadata.json", NOON)
    kept = [s for s in whole.snapshots if s.job_id == V1_120 and (s.checkpoint_id or 0) < 8]
    fields = {"snapshots": tuple(kept), "head": kept[-1].snapshot_id, "head_moves": (), "properties": properties}
    return whole.model_copy(update=fields)


def restored_from(content: bytes, table: TableState, folder: Path) -> Pairing:
    """What a restore from that file would meet, read from storage."""
    (folder / "savepoint-1").mkdir()
    (folder / "savepoint-1" / "_metadata").write_bytes(content)
    unseen = NotSeen(source="Flink", reason="It was not asked.", remedy="Ask it.")
    return pairing(CheckpointFiles(None, str(folder)).read(str(folder / "savepoint-1")), table, unseen)


@pytest.mark.parametrize("folder", [OWN.decode(), ELSEWHERE, AT_A_ROOT, ANOTHER_TABLES])
def test_a_manifest_is_told_with_its_folder(folder: str) -> None:
    """The name tells run and checkpoint; the folder tells whose it is."""
    told = told_by(moved(folder))

    assert (NAME,) == told.pending_manifests
    assert {NAME: (folder.rstrip("/"),)} == told.manifest_folders


@pytest.mark.parametrize("said", [ELSEWHERE, ELSEWHERE.rstrip("/"), f"file://{ELSEWHERE}"])
def test_a_point_that_owes_files_listed_elsewhere_is_not_paired(tmp_path: Path, said: str) -> None:
    """`flink.manifests.location` is set: an empty checkpoint is not what this one is."""
    table = without_its_commit(**{"flink.manifests.location": said})

    found = restored_from(moved(ELSEWHERE), table, tmp_path)

    assert (found.verdict, found.snapshot_id) == (PairVerdict.AHEAD, None)
    assert "commits it first, if its Flink manifests are still on storage" in found.reason


def test_a_folder_that_no_property_names_any_more_owes_too(tmp_path: Path) -> None:
    """The property was changed or taken away since: what cannot be told is owed."""
    found = restored_from(moved(AT_A_ROOT), without_its_commit(), tmp_path)

    assert found.verdict is PairVerdict.AHEAD


def test_another_tables_manifest_is_not_owed_to_this_one(tmp_path: Path) -> None:
    """A job that writes several tables owes this one nothing, if all that it lists lies beside another's metadata."""
    table = without_its_commit()

    found = restored_from(moved(ANOTHER_TABLES), table, tmp_path)

    assert (found.verdict, found.snapshot_id) == (PairVerdict.PAIRED, table.head)


def test_a_folder_where_the_table_has_lain_before_is_its_own(tmp_path: Path) -> None:
    """After `SET LOCATION` the commits that are listed still tell where it was."""
    moved_on = without_its_commit().model_copy(
        update={"location": "s3a://new/v1d", "metadata_location": "s3://new/v1d/metadata/v8.metadata.json"}
    )

    assert (NAME,) == owed_to(moved_on, CheckpointFiles(None, None).read(str(written(recorded(STOPPED), tmp_path))))


def test_of_two_manifests_of_one_name_the_own_one_counts(tmp_path: Path) -> None:
    """A dynamic sink counts in each table by itself, so two tables' manifests may have one name."""
    stored = CheckpointFiles(None, None).read(str(written(recorded(STOPPED), tmp_path)))
    both = stored.model_copy(update={"manifest_folders": {NAME: ("/else/metadata", OWN.decode().rstrip("/"))}})
    others = stored.model_copy(update={"manifest_folders": {NAME: ("/else/metadata", "s3://b/other/metadata")}})
    older = stored.model_copy(update={"manifest_folders": {}})

    owed = [owed_to(without_its_commit(), each) for each in (both, others, older)]

    assert [(NAME,), (), (NAME,)] == owed


@pytest.mark.parametrize(
    ("properties", "folder"),
    [
        ({}, "/lake/warehouse/tbl/v1d/metadata"),
        ({"write.metadata.path": "s3://meta/v1d/"}, "s3://meta/v1d"),
        ({"write.metadata.path": "s3://meta/v1d", "flink.manifests.location": "s3://flink/"}, "s3://flink"),
    ],
)
def test_where_the_sink_writes_them(properties: dict[str, str], folder: str) -> None:
    """`ManifestOutputFileFactory`: the property of its own, else beside the metadata, wherever that is."""
    assert folder == folder_of_manifests(without_its_commit(**properties))


def written(content: bytes, folder: Path) -> Path:
    """A savepoint of this content."""
    (folder / "savepoint-2").mkdir()
    (folder / "savepoint-2" / "_metadata").write_bytes(content)
    return folder / "savepoint-2"


@pytest.mark.parametrize("root", ["_entropy_/checkpoints", "state/_entropy_", "s_entropy_e/checkpoints"])
def test_where_flink_draws_letters_for_paths_the_state_is_found(tmp_path: Path, root: str) -> None:
    """Flink's own setting holds it: `_metadata` lies without it, and each shared file under letters that Flink drew."""
    kept = Retained(Path(re.sub("/?_entropy_", "", str(tmp_path / root))), "flink21")
    drawn = Retained(tmp_path / root.replace("_entropy_", "x7Kq"), "flink21")
    for metadata in drawn.run.glob("chk-*/_metadata"):
        metadata.unlink()
    kept.as_if_written_at(drawn.root)
    shutil.rmtree(kept.run / "shared")
    kept.files = CheckpointFiles(str(tmp_path / root), None)

    whole = kept.problems()
    kept.only_of_8(drawn.run).unlink()

    assert whole == {5: None, 8: None}
    assert [problem is None for _, problem in sorted(kept.problems().items())] == [True, False]


def test_a_point_is_read_once(retained: Retained, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of nightly savepoints are not read at each look; what was written anew is."""
    read: list[bytes] = []
    real = checkpoint_files.told_by

    def told(content: bytes, beside: Callable[[Handle], bytes | None]) -> ParsedMetadata:
        read.append(content)
        return real(content, beside)

    monkeypatch.setattr(checkpoint_files, "told_by", told)

    first, again = retained.told(), retained.told()
    count = len(read)
    metadata = retained.run / "chk-8" / "_metadata"
    metadata.write_bytes(metadata.read_bytes()[:-1])
    changed = retained.told()

    assert (count, len(read)) == (2, 3)
    assert first == again
    assert changed[5] == first[5]
    assert changed != first
