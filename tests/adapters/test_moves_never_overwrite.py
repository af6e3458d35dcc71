"""A file that is moved never takes the place of another one: what lies there already is compared, not replaced."""

from pathlib import Path

import pytest

from bot.adapters.storage import opened
from bot.adapters.table_files import move
from bot.domain.errors import CommitRefused
from bot.domain.file_changes import MovedFiles
from tests.tables import ORDERS


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
