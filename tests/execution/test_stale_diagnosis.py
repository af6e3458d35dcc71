"""A stale diagnosis, and orphan files that were moved in part."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.adapters.clock import SystemClock
from bot.diagnosis._examine import ModeModule
from bot.domain.diagnosis import Case, Matches, Remedy
from bot.domain.entries import Diagnosed, EvidenceRecorded, EvidenceRequested, WaterlineMoved
from bot.domain.errors import CouldNotLook, Refused
from bot.domain.evidence import Evidence, Verdict
from bot.domain.execution import ProposalState
from bot.domain.findings import DuplicatePair, DuplicatesFinding
from bot.domain.ids import EvidenceId
from bot.domain.table import Window
from bot.service.choosing import past_of
from bot.service.diagnosing import Diagnostician
from bot.service.waterline import TAG, Waterline
from tests.actions.conftest import scene
from tests.actions.scene import MODE, Scene
from tests.execution.orphans import Orphans
from tests.little_flink import open_catalog
from tests.rewound import ANA
from tests.tables import ORDERS

__all__ = ["scene"]


RUN = EvidenceId("01JBQ5M7Z3T9K4X8V2N6R0PE01")


def doubled(scene: Scene) -> Evidence:
    """Ten keys of the first commit live again by the second."""
    first, second, head = (scene.snapshot("a", number) for number in (1, 2, 3))
    return Evidence(
        id=RUN,
        task="duplicate_rows",
        task_version=1,
        question="Is it?",
        verdict=Verdict.CONFIRMED,
        headline="10 keys live twice.",
        finding=DuplicatesFinding(
            rows_checked=30, keys=10, extra_rows=10, pairs=(DuplicatePair(first=first, second=second, keys=10),)
        ),
        metadata_location=scene.table.metadata_location,
        head=head,
        window=Window(since=None, until=head),
        at=datetime.now(UTC),
        took_ms=1,
        bytes_read=1,
    )


def test_evidence_that_came_while_it_was_made_has_it_made_anew(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark ended while the world was looked at: the tag came back onto the rows that it had found wrong."""
    second, head = scene.snapshot("a", 2), scene.snapshot("a", 3)
    seen: list[int] = []

    def examine(case: Case) -> Matches:
        seen.append(0 if case.duplicates is None else case.duplicates.keys)
        return Matches(
            headline="x", reasons=(), rows=(head,), last_good=second, wrong_run=None, remedy=Remedy.DEDUPLICATE_ROWS
        )

    diagnostician = Diagnostician(scene.store, scene.observer, {"F0": ModeModule(mode=MODE, examine=examine)})
    waterline = Waterline(scene.store, scene.catalog, SystemClock())
    waterline.move(scene.incident, WaterlineMoved(snapshot=head, status="under-review"))
    asked = EvidenceRequested(run=RUN, task="duplicate_rows", step=None)
    scene.store.write(scene.incident, by=ANA, decide=lambda _incident: [asked])
    evidence, observe = doubled(scene), scene.observer.observe

    def slowly(*given: Any, **more: Any) -> Any:
        world = observe(*given, **more)
        if scene.store.get(scene.incident).runs[RUN].evidence is None:
            told = EvidenceRecorded(run=RUN, evidence=evidence)
            scene.store.write(scene.incident, by=ANA, decide=lambda _incident: [told])
            waterline.follow(scene.incident)
        return world

    monkeypatch.setattr(scene.observer, "observe", slowly)
    diagnostician.diagnose(scene.incident)
    waterline.follow(scene.incident)

    written = [entry for entry in scene.store.get(scene.incident).entries if isinstance(entry.body, Diagnosed)]
    assert len(written) == 1
    assert seen == [0, 10]
    assert scene.table.ref(TAG) is None


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
