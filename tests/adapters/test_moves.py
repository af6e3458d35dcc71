"""Files are moved one by one and back, and never over another one."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from pyarrow.fs import FileInfo, FileType

from bot.adapters import table_files
from bot.adapters.storage import TableStorage, opened
from bot.adapters.table_files import FolderOfTable, move
from bot.domain.errors import CommitRefused, CouldNotLook, OutcomeUnknown
from bot.domain.file_changes import MovedFiles
from tests.adapters.serving import unused_address
from tests.adapters.vended_s3 import BUCKET, VendedS3, s3
from tests.tables import ORDERS

__all__ = ["s3"]


def laid(path: Path, content: bytes) -> str:
    """A file with this content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return str(path)


def moved(tmp_path: Path, *moves: tuple[str, str]) -> MovedFiles:
    return move(ORDERS, moves, f"{tmp_path}/aside/moved.json", opened)


@pytest.mark.parametrize("other", [b"another", b"another one"], ids=["of the same size", "of another size"])
def test_another_file_at_the_new_place_stays_and_is_said(tmp_path: Path, other: bytes) -> None:
    """Both are still there, whatever their sizes, and the others are moved."""
    taken = laid(tmp_path / "aside/a.parquet", other)
    hit, free = laid(tmp_path / "a.parquet", b"my rows"), laid(tmp_path / "b.parquet", b"b")

    told = moved(tmp_path, (hit, taken), (free, f"{tmp_path}/aside/b.parquet"))

    assert (told.arrived, told.left) == (1, (hit,))
    assert told.problem == f"{taken} is another file, which is not overwritten"
    assert (Path(hit).read_bytes(), Path(taken).read_bytes()) == (b"my rows", other)


def test_a_copy_that_a_crash_left_at_both_places_is_finished(tmp_path: Path) -> None:
    """Storage copies, then removes: a bot that died between the two has moved it all the same."""
    source, target = laid(tmp_path / "a.parquet", b"rows"), laid(tmp_path / "aside/a.parquet", b"rows")

    assert moved(tmp_path, (source, target)) == MovedFiles(arrived=1)
    assert (Path(source).exists(), Path(target).read_bytes()) == (False, b"rows")


@pytest.mark.parametrize("second", [b"two", b"one"], ids=["other rows", "the same rows"])
def test_of_two_files_with_one_new_place_only_the_first_is_moved(tmp_path: Path, second: bytes) -> None:
    """As proposals of earlier versions name them: each is still somewhere, again and again."""
    target = f"{tmp_path}/aside/x.parquet"
    one, two = laid(tmp_path / "1/x.parquet", b"one"), laid(tmp_path / "2/x.parquet", second)

    told = [moved(tmp_path, (one, target), (two, target)) for _ in range(2)]

    assert [(each.arrived, each.left) for each in told] == [(1, (two,))] * 2
    assert told[0].problem == f"{target} is the new place of an earlier file of the list, which is not overwritten"
    assert (Path(target).read_bytes(), Path(two).read_bytes()) == (b"one", second)


def test_where_every_new_place_is_taken_that_is_the_reason(tmp_path: Path) -> None:
    """Refused: none was moved, and what to look for is said."""
    taken, hit = laid(tmp_path / "aside/a.parquet", b"other"), laid(tmp_path / "a.parquet", b"rows")

    with pytest.raises(CommitRefused, match=r"is another file, which is not overwritten.*new places"):
        moved(tmp_path, (hit, taken))

    assert (Path(hit).read_bytes(), Path(taken).read_bytes()) == (b"rows", b"other")


class Throttled:
    """Every file is where it was; each move fails after `takes_s`, by the clock of the test."""

    type_name = "s3"

    def __init__(self, takes_s: float) -> None:
        self.takes_s = takes_s
        self.now = 0.0
        self.asked = 0

    def get_file_info(self, path: str) -> FileInfo:
        return FileInfo(path, FileType.NotFound if path.startswith("new/") else FileType.File)

    def open_output_stream(self, _path: str) -> "Throttled":
        return self

    def move(self, _source: str, _target: str) -> None:
        self.asked += 1
        self.now += self.takes_s
        raise OSError("AWS Error SLOW_DOWN")

    def write(self, _content: bytes) -> None:
        """The list is written."""

    def __enter__(self) -> "Throttled":
        return self

    def __exit__(self, *_told: object) -> None:
        """Nothing to close."""


@pytest.fixture(params=[(10.0, 2), (0.01, 100)], ids=["slow", "soon"])
def storage(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[Throttled, int]:
    """How it fails, and how many of 100 moves may be tried."""
    takes_s, tries = request.param
    made = Throttled(takes_s)
    monkeypatch.setattr(table_files, "time", SimpleNamespace(monotonic=lambda: made.now))
    return made, tries


def test_the_rest_is_left_once_moves_have_failed_for_long(storage: tuple[Throttled, int]) -> None:
    """Nothing is lost, and the answer comes within seconds; failures that come at once keep no other from a try."""
    files, tries = storage
    moves = [(f"old/{n}", f"new/{n}") for n in range(100)]

    with pytest.raises(CommitRefused, match="SLOW_DOWN"):
        table_files.move(ORDERS, moves, "new/list", lambda path: (files, path))  # type: ignore[arg-type, return-value]

    assert files.asked == tries


AT, ASIDE = f"s3://{BUCKET}/orders/data/orphan.parquet", f"s3://{BUCKET}/orders/quarantine/orphan.parquet"
NOTE = f"s3://{BUCKET}/orders/quarantine/list.json"


@pytest.fixture
def files(s3: VendedS3) -> FolderOfTable:
    """The port, once the table was loaded; its one orphan file is there."""
    s3.puts(AT, b"PAR1")
    storage = TableStorage({})
    storage.learn(ORDERS, s3.properties)
    return FolderOfTable(storage)


def test_an_orphan_is_moved_aside_and_back(files: FolderOfTable) -> None:
    """As the docs promise of catalog properties and vended credentials; each move may be repeated."""
    aside = [files.move(ORDERS, [(AT, ASIDE)], NOTE) for _ in range(2)]
    there = set(files.written_at(ORDERS, [AT, ASIDE]))
    back = files.move(ORDERS, [(ASIDE, AT)], NOTE)

    assert (aside, there, back) == ([MovedFiles(arrived=1)] * 2, {ASIDE}, MovedFiles(arrived=1))
    assert set(files.written_at(ORDERS, [AT, ASIDE, NOTE])) == {AT, NOTE}


@pytest.mark.parametrize(
    ("lies_there", "expected"),
    [(b"PAR1", (MovedFiles(arrived=1), {ASIDE})), (b"PAR2", (None, {AT, ASIDE}))],
    ids=["our own copy", "another file"],
)
def test_what_lies_at_the_new_place_is_never_overwritten(
    s3: VendedS3, files: FolderOfTable, lies_there: bytes, expected: tuple[MovedFiles | None, set[str]]
) -> None:
    """S3 copies, then removes: its copy from before a crash is finished; any other object stays as it is."""
    s3.puts(ASIDE, lies_there)

    try:
        told = files.move(ORDERS, [(AT, ASIDE)], NOTE)
    except CommitRefused:
        told = None

    assert (told, set(files.written_at(ORDERS, [AT, ASIDE]))) == expected
    assert s3.content(ASIDE) == lies_there


def test_without_what_the_catalog_says_it_cannot_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Could not look is never nothing found."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", unused_address())

    with pytest.raises(CouldNotLook):
        FolderOfTable().written_at(ORDERS, [AT])


@pytest.fixture
def moves(tmp_path: Path) -> list[tuple[str, str]]:
    """Four files, each to a folder of its own."""
    (tmp_path / "data").mkdir()
    for number in range(4):
        (tmp_path / f"data/{number}.parquet").write_bytes(b"PAR1")
    return [(f"{tmp_path}/data/{n}.parquet", f"{tmp_path}/aside/{n}/{n}.parquet") for n in range(4)]


def one_by_one_moved(tmp_path: Path, moves: list[tuple[str, str]]) -> MovedFiles:
    return move(ORDERS, moves, f"{tmp_path}/aside/moved.json", opened)


def test_a_file_that_has_vanished_is_passed_over_and_said(tmp_path: Path, moves: list[tuple[str, str]]) -> None:
    """Twice is as once."""
    Path(moves[2][0]).unlink()

    first, second = one_by_one_moved(tmp_path, moves), one_by_one_moved(tmp_path, moves)

    assert first == second == MovedFiles(arrived=3, gone=(moves[2][0],))
    assert [Path(target).exists() for _, target in moves] == [True, True, False, True]


def test_a_file_that_cannot_be_moved_is_left_and_said(tmp_path: Path, moves: list[tuple[str, str]]) -> None:
    """Those after it are moved all the same, and it is moved once it can be."""
    (tmp_path / "aside").mkdir()
    (tmp_path / "aside/1").write_text("a file, where a folder has to be")

    first = one_by_one_moved(tmp_path, moves)
    (tmp_path / "aside/1").unlink()
    second = one_by_one_moved(tmp_path, moves)

    assert (first.arrived, first.left) == (3, (moves[1][0],))
    assert first.problem is not None
    assert second == MovedFiles(arrived=4)


def test_without_its_list_no_file_is_moved(tmp_path: Path, moves: list[tuple[str, str]]) -> None:
    """Nobody would know where they came from."""
    (tmp_path / "aside").write_text("a file, where a folder has to be")

    with pytest.raises(CommitRefused, match="No file of"):
        one_by_one_moved(tmp_path, moves)

    assert all(Path(source).exists() for source, _ in moves)


def test_a_storage_that_does_not_tell_where_a_file_is_leaves_it_unknown(
    tmp_path: Path, moves: list[tuple[str, str]]
) -> None:
    """What was moved before is not denied."""
    with pytest.raises(OutcomeUnknown, match="It is not known where nowhere:/"):
        one_by_one_moved(tmp_path, [moves[0], ("nowhere://x/1.parquet", "nowhere://x/2.parquet")])

    assert Path(moves[0][1]).exists()
