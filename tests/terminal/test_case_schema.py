"""The columns of the job's state are looked for with every look, and a saved case holds what told them."""

import json
from pathlib import Path

import pytest

from bot.adapters.case_rereading import read_again
from bot.adapters.case_sources import sources_of
from bot.adapters.writer_schema import SCHEMA
from bot.bootstrap import build
from bot.cli.options import NobodyThere
from bot.domain.diagnosis import Case
from bot.domain.looked import NotSeen
from bot.settings import Settings
from tests.adapters.lake import ORDERS, Lake
from tests.cases import Tale, job_id

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
