"""A storage that fails slowly is not asked for every file of a long list."""

from types import SimpleNamespace

import pytest
from pyarrow.fs import FileInfo, FileType

from bot.adapters import table_files
from bot.domain.errors import CommitRefused
from tests.tables import ORDERS


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
