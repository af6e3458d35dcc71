"""The mark names no snapshot with wrong rows, wherever it began, and comes back to none because less was looked at."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.diagnosis._support.examine import diagnose
from bot.incident.diagnosis import Diagnosis, LastGoodRows
from bot.incident.doubt import beside_trusted, faults_in
from bot.incident.entries import Diagnosed, WaterlineMoved
from bot.incident.lowering import due_mark
from bot.observation.findings import PAIRS_TOLD, DuplicatePair, DuplicatesFinding, Finding
from bot.observation.ids import SnapshotId
from tests import orders_table as orders
from tests.cases import Tale
from tests.diagnosis.test_never_healthy import MODES, placed, restarted
from tests.execution.test_lowering import NEWER, OLDER, added_twice, fault, lost, mark, named, story
from tests.found import twice
from tests.incidents import Story, healthy

__all__ = ["story"]


class Told:
    """A run that was started without state above rows that were doubled by something else, in the second commit."""

    def __init__(self, tale: Tale, folder: Path) -> None:
        self.tale = tale
        self.ids = [each.snapshot_id for each in tale.snapshots]
        self.doubled = twice(2, [(self.ids[0], self.ids[1])])
        self._folder = folder

    def diagnosed(self, duplicates: DuplicatesFinding | None) -> Diagnosis:
        case = placed(self.tale.looked_at(), 0, 10, 20, 30, 40)
        return diagnose(case.model_copy(update={"duplicates": duplicates}), MODES)

    def marks(self, trusted: int, *diagnoses: Diagnosis, is_shown: bool = True) -> Iterator[SnapshotId | None]:
        """Where it is after the evidence, and after each diagnosis."""
        with closing(open_store(f"sqlite:///{self._folder / 'record.db'}")) as store:
            story = Story(store.journal).opens(trusted=self.ids[trusted])
            if is_shown:
                story.answers(finding=self.doubled)
                yield self._moved(story)
            for each in diagnoses:
                story.says(Diagnosed(diagnosis=each))
                yield self._moved(story)

    def _moved(self, story: Story) -> SnapshotId | None:
        moved = due_mark(story.incident, self.tale.table)
        story.says(moved)
        return moved.snapshot


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return Told(restarted(), tmp_path)


@pytest.mark.parametrize("trusted", [1, 2])
def test_wrong_rows_below_a_named_fault_leave_no_snapshot_wherever_the_mark_began(told: Told, trusted: int) -> None:
    """The fault lies above, and says that rows before it are wrong by another that nobody named."""
    found = told.diagnosed(told.doubled)
    assert [rows.last_good_rows for _, rows in faults_in(found)] == [LastGoodRows.WRONG]

    assert list(told.marks(trusted, found)) == [None, None]


def test_a_snapshot_below_all_rows_that_are_known_to_be_wrong_is_named(told: Told) -> None:
    """The evidence names the commits that brought them, and the first lies before."""
    assert list(told.marks(0, told.diagnosed(told.doubled))) == [told.ids[0], told.ids[0]]


@pytest.mark.parametrize("is_shown", [True, False])
def test_evidence_that_is_lost_lifts_nothing(told: Told, is_shown: bool) -> None:
    """The rows were found wrong; then Spark was away, and the same fault is named with rows that nobody looked at."""
    found, blind = told.diagnosed(told.doubled), told.diagnosed(None)
    assert [rows.last_good_rows for _, rows in faults_in(blind)] == [LastGoodRows.NOT_LOOKED_AT]

    assert set(told.marks(2, found, blind, is_shown=is_shown)) == {None}


def test_wrong_rows_that_no_diagnosis_explains_count_beside_a_fault_that_was_named_before(story: Story) -> None:
    """Its place says nothing of them; the newest diagnosis saw them, and names no fault at all."""
    assert mark(story.says(named(fault(NEWER)))) == (NEWER, "under-review")
    story.answers("missing_positions")
    mark(story)

    assert mark(story.says(healthy())) == (None, "under-review")


@pytest.mark.parametrize(
    ("task", "finding"),
    [("duplicate_files", added_twice(OLDER)), ("missing_files", lost(OLDER))],
    ids=["added twice", "lost"],
)
def test_files_of_what_is_trusted_that_are_wrong_take_the_trust_back(story: Story, task: str, finding: Finding) -> None:
    """As rows that live twice do: nobody has to diagnose before."""
    story.says(WaterlineMoved(snapshot=orders.HEAD, status="trusted")).answers(task, finding=finding)

    assert mark(story)[1] == "under-review"


@pytest.mark.parametrize(("pairs", "is_known"), [(PAIRS_TOLD, False), (PAIRS_TOLD - 1, True)])
def test_a_cut_list_of_pairs_does_not_place_every_wrong_row(tmp_path: Path, pairs: int, *, is_known: bool) -> None:
    """Each key lives three times and counts in two pairs: the pairs that are left out may lie at or below the mark."""
    told = [DuplicatePair(first=SnapshotId(7), second=orders.HEAD, keys=10) for _ in range(pairs)]
    found = DuplicatesFinding(rows_checked=12_000, keys=pairs * 8, extra_rows=pairs * 16, pairs=tuple(told))
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        story = Story(store.journal).opens(trusted=NEWER).answers(finding=found)

        assert (beside_trusted(story.incident) == "newer rows: under review") == is_known
        assert (mark(story.says(healthy()))[0] == NEWER) == is_known
