"""A diagnosis that new evidence has overtaken."""

from datetime import UTC, datetime
from typing import Any

import pytest

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql import Store
from bot.diagnosis._support.examine import ModeModule
from bot.history.case import Case
from bot.incident.diagnosis import Matches, Remedy
from bot.incident.entries import Diagnosed, EvidenceRecorded, EvidenceRequested, WaterlineMoved
from bot.observation.evidence import Evidence, Verdict
from bot.observation.findings import DuplicatePair, DuplicatesFinding
from bot.observation.ids import EvidenceId
from bot.observation.table import Window
from bot.service.diagnosing import Diagnostician
from bot.service.proposals.proposing import to_look_at
from bot.service.waterline import TAG, Waterline
from tests.actions.conftest import scene
from tests.actions.scene import MODE, Scene
from tests.incidents import Story
from tests.rewound import ANA

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
        return Matches(headline="x", reasons=(), rows=(head,), last_good=second, remedy=Remedy.DEDUPLICATE_ROWS)

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


def test_what_an_action_needs_and_nobody_has_asked_for_is_collected(record: Store) -> None:
    """Not what has an answer, nor what is running: a second run of it would tell nothing sooner. What an earlier
    proposal asked for by itself may have been cut off with it."""
    story = Story(record.journal).opens().answers("duplicate_rows")
    story.says(EvidenceRequested(run=EvidenceId("01JBQ5M7Z3T9K4X8V2N6R0PE77"), task="ledger", step=None), by=ANA)
    cut_off = EvidenceRequested(run=EvidenceId("01JBQ5M7Z3T9K4X8V2N6R0PE78"), task="missing_positions", step=None)
    story.says(cut_off)
    needed = ("duplicate_rows", "missing_positions", "ledger")
    nobody: Any = None

    assert list(to_look_at(story.incident, needed, nobody, nobody)) == ["missing_positions"]
