"""Orphan files that are put aside in part: what was moved is on record, and comes back."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bot.domain.errors import CouldNotLook, Refused
from bot.domain.execution import ProposalState
from bot.service.choosing import past_of
from tests.execution.orphans import Orphans
from tests.little_flink import open_catalog
from tests.tables import ORDERS


@pytest.fixture
def orphans(tmp_path: Path) -> Iterator[Orphans]:
    """Their removal was approved, and not begun."""
    with closing(Orphans(tmp_path)) as made:
        yield made


def test_a_file_that_somebody_removes_meanwhile_keeps_the_others_from_nothing(orphans: Orphans) -> None:
    """It ends done, says so with numbers, and its undo brings back what is there."""
    orphans.begins()
    orphans.files[1].unlink()
    orphans.carries_on()
    aside, undone = orphans.there, orphans.undone()

    assert orphans.view.state is ProposalState.APPLIED
    said = orphans.view.done[1].detail
    assert said.startswith("2 of 3 files are at their new place; somebody has removed 1 (left-1.parquet). The list is ")
    assert aside == [False, False, False]
    assert undone.state is ProposalState.APPLIED
    assert orphans.there == [True, False, True]


def test_what_was_moved_before_the_rest_was_refused_is_said_and_comes_back(orphans: Orphans) -> None:
    """Somebody commits one of the files between the two passes."""
    orphans.breaks_off_after_the_first()
    orphans.begins()
    orphans.carries_on()
    first = orphans.view.state
    with closing(open_catalog(orphans.scene.folder)) as catalog:
        catalog.load_table(ORDERS).add_files([f"file://{orphans.files[2]}"])
    orphans.carries_on()
    undone = orphans.undone()

    assert first is ProposalState.EXECUTING
    assert orphans.view.state is ProposalState.REFUSED
    assert orphans.view.result is not None
    assert "1 of 3 files are at their new place" in orphans.view.result.sentence
    assert undone.state is ProposalState.APPLIED
    assert orphans.there == [True, True, True]


@pytest.mark.parametrize("kind", ["branch", "tag"])
def test_a_file_that_another_branch_or_a_tag_names_by_now_stays(orphans: Orphans, kind: str) -> None:
    """A repair that is proven on its branch would lose it at its publication, an undo the state that it goes to."""
    with closing(open_catalog(orphans.scene.folder)) as catalog:
        table = catalog.load_table(ORDERS)
        before = table.current_snapshot().snapshot_id
        table.add_files([f"file://{orphans.files[2]}"])
        added = table.refresh().current_snapshot().snapshot_id
        manage = table.manage_snapshots()
        (manage.create_branch if kind == "branch" else manage.create_tag)(added, "recovery-wl-1").commit()
        table.refresh().manage_snapshots().rollback_to_snapshot(before).commit()
    orphans.begins()
    orphans.carries_on()

    assert orphans.view.state is ProposalState.REFUSED
    assert orphans.view.result is not None
    assert "recovery-wl-1 now does" in orphans.view.result.sentence
    assert orphans.there == [True, True, True]


def test_what_nobody_could_look_at_again_comes_back_too(orphans: Orphans) -> None:
    """The second pass cannot read the table: it goes on when it can."""
    orphans.breaks_off_after_the_first()
    named = orphans.scene.catalog.files_named

    def away(*_asked: Any, **_named: Any) -> Any:
        raise CouldNotLook("The catalog did not answer.", "", "")

    orphans.begins()
    orphans.carries_on()
    orphans.scene.catalog.files_named = away  # type: ignore[method-assign]
    orphans.carries_on()
    meanwhile = orphans.view.state
    orphans.scene.catalog.files_named = named  # type: ignore[method-assign]
    orphans.carries_on()

    assert meanwhile is ProposalState.EXECUTING
    assert orphans.view.state is ProposalState.APPLIED
    assert orphans.there == [False, False, False]


def test_where_none_is_aside_there_is_nothing_to_bring_back(orphans: Orphans) -> None:
    """Somebody has emptied the folder since."""
    orphans.begins()
    orphans.carries_on()
    shutil.rmtree(orphans.scene.folder / "lake/sales/orders/waterline-quarantine")

    with pytest.raises(Refused, match="none is there"):
        orphans.undone()


def test_a_removal_that_was_refused_as_a_whole_has_no_files_to_bring_back(orphans: Orphans) -> None:
    """All that it did is the freeze."""
    (orphans.scene.folder / "lake/sales/orders/waterline-quarantine").write_text("a file, where a folder has to be")
    orphans.begins()
    orphans.carries_on()

    past = past_of(orphans.scene.store.get(orphans.scene.incident), orphans.proposal, orphans.scene.observer.jobs)

    assert orphans.view.state is ProposalState.REFUSED
    assert orphans.there == [True, True, True]
    assert list(past.results) == [0]
