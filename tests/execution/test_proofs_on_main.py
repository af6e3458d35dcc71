"""What accuses main, and what its repair was proven by, is asked of main once more before it is trusted."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot import actions
from bot.actions._scan import scan
from bot.adapters.journal_sql import open_store
from bot.domain.action import MovesWaterline
from bot.domain.contract import TableContract
from bot.domain.doubt import ACCUSERS, accusations
from bot.domain.effects import PublishBranch
from bot.domain.evidence import Verdict
from bot.domain.findings import UnreadableFile, UnreadableFilesFinding
from bot.domain.ids import SnapshotId, TableName
from bot.service.verifying import Verifier, proofs_on_main
from tests import orders_table as orders
from tests.execution.test_lowering import OLDER
from tests.incidents import Story

ACTIONS = {name: module.action for name, module in scan(actions).items()}
WITHOUT, WITH = TableContract(key=("order_id",)), TableContract(key=("order_id",), position="source_position")
PUBLISH = PublishBranch(
    table=TableName("sales.orders"),
    branch="recovery-wl-1",
    base=SnapshotId(1),
    head=SnapshotId(2),
    keep_head_as="wl-1-left",
    drop_branch=True,
)


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """Nothing accuses the table yet."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        yield Story(store.journal).opens()


def asked(
    story: Story, moves: MovesWaterline = "trusted", repair: str | None = None, contract: TableContract = WITHOUT
) -> list[str]:
    """The tasks that are asked of main beside the action's own."""
    return list(proofs_on_main(story.incident, moves, ACTIONS[repair] if repair else None, contract))


@pytest.mark.parametrize("task", ACCUSERS)
def test_what_accuses_main_is_asked_again_before_it_is_trusted(story: Story, task: str) -> None:
    """A proof ends every doubt before it; also after a look that gave no answer."""
    story.answers(task).answers(task, Verdict.INCONCLUSIVE)

    assert asked(story) == [task]
    assert asked(story, "under-review") == asked(story, "no") == []


def test_what_accuses_main_no_more_or_never_did_is_not(story: Story) -> None:
    """A listing of a whole table is not made for nothing."""
    story.answers("missing_files").answers("missing_files", Verdict.RULED_OUT)
    story.answers("unreadable_files", branch=PUBLISH.branch).answers("late_rows")

    assert asked(story) == []


def test_whether_rows_are_missing_is_always_asked_where_it_can_be_told(story: Story) -> None:
    """Dropped references leave a gap that nobody had looked for before."""
    assert asked(story, contract=WITH) == ["missing_positions"]
    assert asked(story, "no", contract=WITH) == []


@pytest.mark.parametrize(
    ("name", "also"), [("recover_leaked_manifests", []), ("repair_unreadable_files", ["missing_positions"])]
)
def test_main_is_asked_what_the_branch_was_asked(story: Story, name: str, also: list[str]) -> None:
    """The job has gone on since, and what is trusted is main."""
    own = [task for task, _ in ACTIONS[name].proofs]

    assert asked(story, repair=name, contract=WITH) == [*own, *also]
    assert asked(story, "no", repair=name, contract=WITH) == own


def test_of_a_branch_nothing_more_is_asked_than_the_repair_declares(story: Story) -> None:
    """Nobody reads it, and a gap that its repair leaves is told when it is published."""
    rehearsal: Any = SimpleNamespace(proposal=SimpleNamespace(rehearses_on=PUBLISH.branch))
    none: Any = None

    assert Verifier(none, none, none, scan(actions), none)._proofs_on_main(story.incident, rehearsal, "trusted") == {}


@pytest.mark.parametrize(("snapshot", "is_read"), [(orders.HEAD, True), (OLDER, False)], ids=["the head's", "older"])
def test_a_lost_manifest_list_accuses_main_only_where_main_is_read_by_it(
    story: Story, snapshot: SnapshotId, *, is_read: bool
) -> None:
    """One of a commit that was rolled back is never there again, and keeps nobody from reading."""
    file = UnreadableFile(path="snap.avro", what="manifest-list", snapshot_id=snapshot, rows=0, problem="Missing.")
    found = UnreadableFilesFinding(files_checked=9, count=1, rows=0, files=(file,), commits=(), lists=(snapshot,))
    story.answers("unreadable_files", finding=found)

    assert bool(accusations(story.incident)) == is_read
