"""A rewind makes no table trusted of which something else is known to be wrong: it is asked again, and said."""

from collections.abc import Callable
from contextlib import closing, nullcontext

import pytest

import spark_tasks
from bot import actions
from bot.actions._scan import scan
from bot.adapters.clock import SystemClock
from bot.domain.entries import EvidenceRecorded, EvidenceRequested, Verified
from bot.domain.evidence import Answer, Ask, Evidence, Progress, Task, Verdict
from bot.domain.findings import MissingFilesFinding, UnreadableFile, UnreadableFilesFinding
from bot.domain.ids import EvidenceId, SnapshotId
from bot.domain.table import Window
from bot.evidence import Collector, find_tasks
from bot.service.evidence_desk import EvidenceDesk
from bot.service.incident_store import IncidentStore
from bot.service.verifying import Verifier
from tests.execution.test_proven_head import damaged, store, table
from tests.rewound import ANA, PROPOSAL, Damaged
from tests.slack.looking import ArrowRunner

__all__ = ["damaged", "store"]
LOST = "2 files that the head names are not on storage."
NO_LIST = "1 manifest list cannot be read."
FOUND = MissingFilesFinding(files_checked=9, count=2, rows=0, commits=(), files=())


class Looks(ArrowRunner):
    """Also at the files of the head: what it finds there is up to the test."""

    def __init__(self, files: Verdict, meanwhile: Callable[[], None], lists: SnapshotId | None = None) -> None:
        """`lists`: the snapshot whose manifest list is lost."""
        super().__init__()
        self._lists = lists
        self.asked: list[str] = []
        self._files, self._meanwhile = files, meanwhile

    def run(self, task: Task, ask: Ask, *, tag: str, on_progress: Callable[[Progress], None]) -> tuple[Answer, int]:
        """See the port."""
        self.asked.append(task.name)
        if task.name == "missing_files":
            return Answer(verdict=self._files, headline=LOST, finding=FOUND), 1234
        if task.name == "unreadable_files" and self._lists is not None:
            return Answer(verdict=Verdict.CONFIRMED, headline=NO_LIST, finding=without_list(self._lists)), 1234
        answer = super().run(task, ask, tag=tag, on_progress=on_progress)
        if self.runs == 1:
            self._meanwhile()
        return answer


def without_list(of: SnapshotId) -> UnreadableFilesFinding:
    """The manifest list of this snapshot is not on storage."""
    file = UnreadableFile(path="snap.avro", what="manifest-list", snapshot_id=of, rows=0, problem="It is missing.")
    return UnreadableFilesFinding(files_checked=9, count=1, rows=0, files=(file,), commits=(), lists=(of,))


def accuses(damaged: Damaged, store: IncidentStore, lists: SnapshotId | None = None) -> None:
    """Somebody has every file looked for, and two are missing; or that snapshot's list, while it was the head."""
    [incident], at = store.all(), table(damaged)
    run, head = EvidenceId(f"{len(incident.runs)}-lost"), lists or at.head
    task = "missing_files" if lists is None else "unreadable_files"
    found = Evidence(
        verdict=Verdict.CONFIRMED, headline=LOST, id=run, task=task, task_version=1, question="?",
        metadata_location=at.metadata_location, head=head, window=Window(since=None, until=head),
        at=SystemClock().now(), took_ms=1, bytes_read=0, finding=None if lists is None else without_list(lists),
    )  # fmt: skip
    told = [EvidenceRequested(run=run, task=task, step=None), EvidenceRecorded(run=run, evidence=found)]
    store.write(incident.id, by=ANA, decide=lambda _i: list(told))


def proves(damaged: Damaged, store: IncidentStore, runner: Looks) -> Verified:
    """The proof of the rewind."""
    observer = damaged.executions(store)[0]._observer  # the one over this table
    collector = Collector(find_tasks(spark_tasks), runner, SystemClock())
    with closing(EvidenceDesk(store, observer, collector, lambda _work: nullcontext(True))) as desk:
        proof = Verifier(store, observer, desk, scan(actions), SystemClock()).verify(store.all()[0].id, PROPOSAL)
        assert proof is not None
        assert store.all()[0].proposals[PROPOSAL].verified == proof
        return proof


@pytest.mark.parametrize(("files", "is_whole"), [(Verdict.RULED_OUT, True), (Verdict.CONFIRMED, False)])
def test_what_accused_the_table_before_is_asked_again(
    damaged: Damaged, store: IncidentStore, files: Verdict, *, is_whole: bool
) -> None:
    """Another fault than the one that the rewind has mended."""
    accuses(damaged, store)

    proof = proves(damaged, store, runner := Looks(files, lambda: None))

    assert runner.asked == ["duplicate_rows", "missing_positions", "missing_files"]
    assert proof.passed == proof.makes_trusted == is_whole
    left = [check.sentence for check in proof.checks if not check.passed]
    assert len(left) == (0 if is_whole else 1)
    assert all(sentence.startswith(LOST) and "until this is fixed and verified, too" in sentence for sentence in left)


def test_what_is_found_while_the_table_is_proven_is_not_forgotten(damaged: Damaged, store: IncidentStore) -> None:
    """Nobody had asked for the files when the proof began."""
    proof = proves(damaged, store, runner := Looks(Verdict.RULED_OUT, lambda: accuses(damaged, store)))

    assert runner.asked == ["duplicate_rows", "missing_positions"]
    assert not proof.passed
    assert [check.name for check in proof.checks if not check.passed] == ["No other problem found"]


@pytest.mark.parametrize("is_of_head", [False, True], ids=["left behind", "the head's"])
def test_a_lost_list_that_main_has_left_behind_fails_no_proof(
    damaged: Damaged, store: IncidentStore, *, is_of_head: bool
) -> None:
    """It was the head's, and main was rewound below it: nobody can mend that, and nobody reads by it."""
    left = table(damaged).rolled_back[-1].snapshot_id
    accuses(damaged, store, lists=left)
    head = table(damaged).head
    assert head is not None

    proof = proves(damaged, store, Looks(Verdict.RULED_OUT, lambda: None, lists=head if is_of_head else left))

    assert proof.passed is not is_of_head
    [told] = [check.sentence for check in proof.checks if check.sentence.startswith(NO_LIST)]
    assert ("main does not need" in told) is not is_of_head
