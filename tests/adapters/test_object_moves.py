"""Files are moved one by one: one that is gone or locked keeps no other from being moved."""

from pathlib import Path

import pytest

from bot.adapters.storage import opened
from bot.adapters.table_files import move
from bot.domain.errors import CommitRefused, OutcomeUnknown
from bot.domain.file_changes import MovedFiles
from tests.tables import ORDERS


@pytest.fixture
def moves(tmp_path: Path) -> list[tuple[str, str]]:
    """Four files, each to a folder of its own."""
    (tmp_path / "data").mkdir()
    for number in range(4):
        (tmp_path / f"data/{number}.parquet").write_bytes(b"PAR1")
    return [(f"{tmp_path}/data/{n}.parquet", f"{tmp_path}/aside/{n}/{n}.parquet") for n in range(4)]


def moved(tmp_path: Path, moves: list[tuple[str, str]]) -> MovedFiles:
    return move(ORDERS, moves, f"{tmp_path}/aside/moved.json", opened)


def test_a_file_that_has_vanished_is_passed_over_and_said(tmp_path: Path, moves: list[tuple[str, str]]) -> None:
    """Twice is as once."""
    Path(moves[2][0]).unlink()

    first, second = moved(tmp_path, moves), moved(tmp_path, moves)

    assert first == second == MovedFiles(arrived=3, gone=(moves[2][0],))
    assert [Path(target).exists() for _, target in moves] == [True, True, False, True]


def test_a_file_that_cannot_be_moved_is_left_and_said(tmp_path: Path, moves: list[tuple[str, str]]) -> None:
    """Those after it are moved all the same, and it is moved once it can be."""
    (tmp_path / "aside").mkdir()
    (tmp_path / "aside/1").write_text("a file, where a folder has to be")

    first = moved(tmp_path, moves)
    (tmp_path / "aside/1").unlink()
    second = moved(tmp_path, moves)

    assert (first.arrived, first.left) == (3, (moves[1][0],))
    assert first.problem is not None
    assert second == MovedFiles(arrived=4)


def test_without_its_list_no_file_is_moved(tmp_path: Path, moves: list[tuple[str, str]]) -> None:
    """Nobody would know where they came from."""
    (tmp_path / "aside").write_text("a file, where a folder has to be")

    with pytest.raises(CommitRefused, match="No file of"):
        moved(tmp_path, moves)

    assert all(Path(source).exists() for source, _ in moves)


def test_a_storage_that_does_not_tell_where_a_file_is_leaves_it_unknown(
    tmp_path: Path, moves: list[tuple[str, str]]
) -> None:
    """What was moved before is not denied."""
    with pytest.raises(OutcomeUnknown, match="It is not known where nowhere:/"):
        moved(tmp_path, [moves[0], ("nowhere://x/1.parquet", "nowhere://x/2.parquet")])

    assert Path(moves[0][1]).exists()
