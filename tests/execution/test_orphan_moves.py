"""Orphan files that are put aside in part: what was moved is on record, and comes back."""

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bot.actions import remove_orphan_files, undo_proposal
from bot.adapters.table_files import FolderOfTable
from bot.domain.action import Plan
from bot.domain.errors import CouldNotLook, OutcomeUnknown, Refused
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.findings import OrphanFilesFinding
from bot.service.choosing import newest_that_did_anything, past_of
from tests.actions.scene import Scene
from tests.little_flink import open_catalog
from tests.tables import ORDERS

_DAYS_AGO = 1_700_000_000


class Orphans:
    """Three old files that nothing names, and their approved removal."""

    def __init__(self, folder: Path) -> None:
        self.scene = Scene.made_in(folder)
        data = folder / "lake/sales/orders/data"
        whole = next(data.glob("*.parquet"))
        self.files = [data / f"left-{number}.parquet" for number in range(3)]
        for file in self.files:
            shutil.copy(whole, file)
            os.utime(file, (_DAYS_AGO, _DAYS_AGO))
        plan = self._plan(self.scene.plan())
        found = OrphanFilesFinding(
            files_listed=9, orphans=3, bytes=4, young=0, paths=tuple(f"file://{file}" for file in self.files)
        )
        plan = plan.model_copy(update={"case": plan.case.model_copy(update={"orphans": found})})
        self.proposal = self.scene.approved(remove_orphan_files.propose(plan), plan).id
        self.files_port = self.scene.observer.hands.files

    def _plan(self, plan: Plan) -> Plan:
        return plan.model_copy(update={"written_at": FolderOfTable().written_at})

    @property
    def there(self) -> list[bool]:
        """Which of them are where they were."""
        return [file.exists() for file in self.files]

    @property
    def view(self) -> ProposalView:
        return self.scene.view(self.proposal)

    def begins(self) -> None:
        self.scene.executions.begin(self.scene.incident, self.proposal, by=self.view.proposal.proposed_by)

    def carries_on(self) -> None:
        self.scene.executions.carry_on(self.scene.incident, self.proposal)

    def breaks_off_after_the_first(self) -> None:
        """Storage goes away in the middle, once."""
        move = self.files_port.move

        def one(table: Any, moves: Any, note: str) -> Any:
            self.files_port.move = move  # type: ignore[method-assign]
            move(table, moves[:1], note)
            raise OutcomeUnknown("Storage does not tell where a file is.", "", "")

        self.files_port.move = one  # type: ignore[method-assign]

    def undone(self) -> ProposalView:
        """By a proposal of its own."""
        meant = newest_that_did_anything(self.scene.store.get(self.scene.incident))
        plan = self._plan(self.scene.plan(undoes=meant, number=2))
        return self.scene.carries_out(undo_proposal.propose(plan), plan)


@pytest.fixture
def orphans(tmp_path: Path) -> Iterator[Orphans]:
    made = Orphans(tmp_path)
    with closing(made.scene.record), closing(made.scene.catalog):
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

    assert first is ProposalState.UNKNOWN
    assert orphans.view.state is ProposalState.REFUSED
    assert orphans.view.result is not None
    assert "1 of 3 files are at their new place" in orphans.view.result.sentence
    assert undone.state is ProposalState.APPLIED
    assert orphans.there == [True, True, True]


def test_what_nobody_could_look_at_again_comes_back_too(orphans: Orphans) -> None:
    """The second pass cannot read the table: it goes on when it can."""
    orphans.breaks_off_after_the_first()
    survey = orphans.scene.catalog.survey_files

    def away(*_asked: Any, **_named: Any) -> Any:
        raise CouldNotLook("The catalog did not answer.", "", "")

    orphans.begins()
    orphans.carries_on()
    orphans.scene.catalog.survey_files = away  # type: ignore[method-assign]
    orphans.carries_on()
    meanwhile = orphans.view.state
    orphans.scene.catalog.survey_files = survey  # type: ignore[method-assign]
    orphans.carries_on()

    assert meanwhile is ProposalState.UNKNOWN
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
