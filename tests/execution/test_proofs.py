"""What a proof of main, of a branch or of a start says, and what takes it back."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import spark_tasks
from bot import actions
from bot.actions import drop_repair_branch, restore_job_at_head
from bot.actions._support.completing import scan
from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql import Store
from bot.adapters.journal_sql.store import open_store
from bot.evidence import Collector, find_tasks
from bot.incident.action import MovesWaterline
from bot.incident.doubt import ACCUSERS, accusations, accused
from bot.incident.effects import DropBranch, PublishBranch, StartJob
from bot.incident.entries import Check, EvidenceRecorded, EvidenceRequested, ProposalMade, Verified
from bot.incident.hidden_values import kept
from bot.observation.contract import HIDDEN, TableContract
from bot.observation.evidence import Answer, Ask, Evidence, Progress, Task, Verdict, no_more_found
from bot.observation.findings import (
    DuplicateFile,
    DuplicateFilesFinding,
    DuplicatePair,
    DuplicatesFinding,
    Finding,
    GapsFinding,
    MissingFilesFinding,
    PositionGap,
    UnreadableFile,
    UnreadableFilesFinding,
)
from bot.observation.ids import CheckpointId, EvidenceId, SnapshotId, TableName
from bot.observation.looked import NotSeen
from bot.observation.table import TableState, Window
from bot.ports import TableChange
from bot.service.evidence_service import EvidenceService
from bot.service.incident_store import IncidentStore
from bot.service.proposals.verifying import (
    Verifier,
    counted_before,
    no_more_than_before,
    no_more_than_main,
    nothing_left,
    proofs_of_start,
    proofs_on_main,
)
from tests import orders_table as orders
from tests.decisions import rewind
from tests.execution.test_lowering import OLDER
from tests.incidents import Story
from tests.little_flink import by_hand
from tests.published import undoes_the_rewind
from tests.rewound import ANA, PROPOSAL, Damaged
from tests.slack.looking import ArrowRunner
from tests.tables import ORDERS, rows

__all__ = ["damaged", "store"]


@pytest.fixture
def damaged(tmp_path: Path) -> Damaged:
    """A rewind of it was approved, by a record that each test opens."""
    return Damaged.made_in(tmp_path)


@pytest.fixture
def store(damaged: Damaged) -> Iterator[IncidentStore]:
    """The rewind was carried out."""
    with closing(open_store(f"sqlite:///{damaged.folder}/journal.db")) as record:
        store = IncidentStore(record.journal, SystemClock())
        incident, executions = damaged.approved(store), damaged.executions(store)[0]
        executions.begin(incident, PROPOSAL, by=ANA)
        executions.carry_on(incident, PROPOSAL)
        yield store


def test_a_commit_from_inside_a_proof_is_not_part_of_what_is_proven(damaged: Damaged, store: IncidentStore) -> None:
    """The second proof has read it, the first one has not: nobody may be told to rely on it."""
    head = table(damaged).head

    proof = accused_proves(damaged, store, Looks(Verdict.RULED_OUT, lambda: backfills(damaged)))

    assert proof.passed
    assert table(damaged).head != head
    assert proof.head == head


def test_a_table_that_is_moved_away_from_under_a_proof_is_not_proven(damaged: Damaged, store: IncidentStore) -> None:
    """What was read is no part of the table any more."""
    proof = accused_proves(damaged, store, Looks(Verdict.RULED_OUT, lambda: rolls_back(damaged)))

    assert not proof.passed
    assert [check.name for check in proof.checks if check.passed is False] == [
        "The verified snapshot is still in the table"
    ]
    assert proof.head == table(damaged).head


def table(damaged: Damaged) -> TableState:
    return damaged.catalog.load(ORDERS)


def backfills(damaged: Damaged) -> None:
    """Another engine appends what belongs there."""
    with by_hand(damaged.folder) as orders:
        orders.append(rows(range(70, 73)))


def rolls_back(damaged: Damaged) -> None:
    """By hand, to before the job's last commit."""
    now = table(damaged)
    change = TableChange(expected_uuid=now.uuid, expected_head=now.head, move_main_to=now.chain[1].snapshot_id)
    damaged.catalog.commit(ORDERS, change)


LOST = "2 files that the head names are not on storage."
NO_LIST = "1 manifest list cannot be read."
FOUND = MissingFilesFinding(files_checked=9, count=2, rows=0, commits=(), files=())


class Looks(ArrowRunner):
    """Also at the files of the head: what it finds there, and what happens meanwhile, is up to the test."""

    def __init__(
        self, files: Verdict, meanwhile: Callable[[], None] = lambda: None, lists: SnapshotId | None = None
    ) -> None:
        """`lists`: the snapshot whose manifest list is lost."""
        super().__init__()
        self._lists = lists
        self.asked: list[str] = []
        self._files, self._meanwhile = files, meanwhile

    def run(self, task: Task, ask: Ask, *, tag: str, on_progress: Callable[[Progress], None]) -> tuple[Answer, int]:
        self.asked.append(task.name)
        if task.name == "missing_files":
            return Answer(verdict=self._files, headline=LOST, finding=FOUND), 1234
        if task.name == "unreadable_files" and self._lists is not None:
            return Answer(verdict=Verdict.CONFIRMED, headline=NO_LIST, finding=without_list(self._lists)), 1234
        answer = super().run(task, ask, tag=tag, on_progress=on_progress)
        if self.runs == 1 and self._meanwhile is not None:
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


def accused_proves(damaged: Damaged, store: IncidentStore, runner: Looks) -> Verified:
    """The proof of the rewind."""
    observer = damaged.executions(store)[0]._observer  # the one over this table
    collector = Collector(find_tasks(spark_tasks), runner, SystemClock())
    with closing(EvidenceService(store, observer, collector, lambda: True)) as desk:
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

    proof = accused_proves(damaged, store, runner := Looks(files))

    assert runner.asked == ["duplicate_rows", "missing_positions", "missing_files"]
    assert proof.passed == proof.makes_trusted == is_whole
    left = [check.sentence for check in proof.checks if not check.passed]
    assert len(left) == (0 if is_whole else 1)
    assert all(sentence.startswith(LOST) and "until this is fixed and verified, too" in sentence for sentence in left)


def test_what_is_found_while_the_table_is_proven_is_not_forgotten(damaged: Damaged, store: IncidentStore) -> None:
    """Nobody had asked for the files when the proof began."""
    proof = accused_proves(damaged, store, runner := Looks(Verdict.RULED_OUT, lambda: accuses(damaged, store)))

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

    proof = accused_proves(damaged, store, Looks(Verdict.RULED_OUT, lists=head if is_of_head else left))

    assert proof.passed is not is_of_head
    [told] = [check.sentence for check in proof.checks if check.sentence.startswith(NO_LIST)]
    assert ("main does not need" in told) is not is_of_head


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
def story(record: Store) -> Story:
    """Nothing accuses the table yet."""
    return Story(record.journal).opens()


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
    moves = Verifier(none, none, none, scan(actions), none)._moves_waterline(rehearsal, None)

    assert asked(story, moves, contract=WITH) == []


@pytest.mark.parametrize(("snapshot", "is_read"), [(orders.HEAD, True), (OLDER, False)], ids=["the head's", "older"])
def test_a_lost_manifest_list_accuses_main_only_where_main_is_read_by_it(
    story: Story, snapshot: SnapshotId, *, is_read: bool
) -> None:
    """One of a commit that was rolled back is never there again, and keeps nobody from reading."""
    story.answers("unreadable_files", finding=without_list(snapshot))

    assert bool(accusations(story.incident)) == is_read


BASE, BRANCH = SnapshotId(7_000_001), SnapshotId(7_000_002)
CHECK = Check(name="No missing rows", passed=False, sentence="Positions are missing.")


def told(finding: Finding | None, head: SnapshotId = BASE, **more: Any) -> Any:
    """An answer that found this."""
    task = {"gaps": "missing_positions", "duplicates": "duplicate_rows", "duplicate-files": "duplicate_files"}
    known = {"verdict": Verdict.CONFIRMED, "headline": "So it is.", "rows": (), "could_not_look": (), **more}
    return SimpleNamespace(task=task[finding.kind] if finding else "ledger", finding=finding, head=head, **known)


def gaps(*spans: tuple[int, int], missing: int | None = None, partition: str | None = None) -> GapsFinding:
    """These positions are missing, and as many in all as `missing` says."""
    named = tuple(PositionGap(first=first, last=last, partition=partition) for first, last in spans)
    number = sum(each.size for each in named) if missing is None else missing
    return GapsFinding(lowest=0, highest=99, positions=100 - number, missing=number, gaps=named)


def hidden(*spans: tuple[int, int]) -> GapsFinding:
    """The same, as the record keeps it where the contract hides the positions."""
    told = kept(gaps(*spans), TableContract(position="source_position", redacted=("source_position",)))
    assert told.is_hidden
    return told


def veiled(*sizes: int) -> tuple[tuple[str, ...], ...]:
    """The lines of an answer, one a gap."""
    return tuple(("none", HIDDEN, HIDDEN, str(size)) for size in sizes)


def twice(*pairs: tuple[int, int, int], hidden: int = 0, keys: int | None = None) -> DuplicatesFinding:
    """So many keys by each first and second commit."""
    named = tuple(DuplicatePair(first=SnapshotId(a), second=SnapshotId(b), keys=number) for a, b, number in pairs)
    number = sum(pair.keys for pair in named) if keys is None else keys
    return DuplicatesFinding(rows_checked=100, keys=number, extra_rows=number, pairs=named, hidden=hidden)


def files(*paths: str, again: int = 2) -> DuplicateFilesFinding:
    """These are live twice."""
    named = tuple(DuplicateFile(path=path, snapshots=(SnapshotId(1), SnapshotId(2)), rows=5) for path in paths)
    count = len(named)
    return DuplicateFilesFinding(
        files_checked=9, count=count, extra_rows=5 * count, files=named, again=(SnapshotId(again),)
    )


@pytest.mark.parametrize(
    ("now", "before", "is_known"),
    [
        (gaps((30, 39)), gaps((30, 39)), True),
        (gaps((30, 34)), gaps((30, 39), (50, 59)), True),
        (gaps((40, 49)), gaps((30, 39)), False),
        (gaps((30, 40)), gaps((30, 39), (50, 59)), False),
        (gaps((30, 39), partition="1"), gaps((30, 39), partition="2"), False),
        (gaps((0, 1), (90, 91), missing=50), gaps((0, 1), (60, 61), missing=50), True),
        (gaps((0, 1), (50, 51), missing=50), gaps((0, 1), (60, 61), missing=50), False),
        (gaps((0, 1), (60, 61), missing=51), gaps((0, 1), (60, 61), missing=50), False),
        (gaps((30, 49)), gaps((30, 39), (40, 49)), True),
        (gaps((30, 34), (35, 49)), gaps((30, 39), (40, 49)), True),
        (gaps((30, 49)), gaps((30, 39), (41, 50)), False),
        (gaps((29, 48)), gaps((30, 39), (40, 49)), False),
        (gaps((30, 49), partition="1"), gaps((30, 49), partition="2"), False),
        (gaps((0, 1), (60, 65), missing=50), gaps((0, 1), (60, 61), missing=50), True),
        (gaps((0, 1), (58, 65), missing=50), gaps((0, 1), (60, 61), missing=50), False),
        (twice((1, 2, 10)), twice((1, 2, 10)), True),
        (twice((1, 2, 9)), twice((1, 2, 10), (1, 3, 1)), True),
        (twice((1, 3, 10)), twice((1, 2, 10)), False),
        (twice((1, 2, 10), keys=11), twice((1, 2, 10)), False),
        (twice((1, 2, 10), hidden=1), twice((1, 2, 10)), False),
        (files("a"), files("a", "b"), True),
        (files("c"), files("a", "b"), False),
        (files("a", again=3), files("a"), False),
        (hidden((30, 39)), hidden((30, 39), (50, 59)), True),
        (hidden((30, 40)), hidden((30, 39)), False),
        (gaps((30, 39)), hidden((30, 39)), True),
        (gaps((30, 40)), hidden((30, 39)), False),
        (gaps((30, 39)), twice((1, 2, 10)), False),
        (None, None, False),
    ],
)
def test_nothing_more_is_what_was_there_and_not_as_much(
    now: Finding | None, before: Finding | None, *, is_known: bool
) -> None:
    """Ten rows that are missing elsewhere are others, though they are ten."""
    assert no_more_found(told(now), told(before)) == is_known


def test_other_keys_are_more_where_all_were_named() -> None:
    """By the same two commits, and as many."""
    before = told(twice((1, 2, 1)), rows=(("17", "2", "…01 → …02"),))

    assert no_more_found(told(twice((1, 2, 1)), rows=(("17", "2", "…01 → …02"),)), before)
    assert not no_more_found(told(twice((1, 2, 1)), rows=(("18", "2", "…01 → …02"),)), before)


def test_what_could_be_seen_before_must_be_seen_now() -> None:
    """Rows whose place is not told now may be the ones that are missing."""
    unseen = NotSeen(source="column source_position", reason="It is null.", remedy="Look again.")
    bare = told(gaps((30, 39)), could_not_look=(unseen,))

    assert not no_more_found(bare, told(gaps((30, 39))))
    assert no_more_found(bare, bare)


SIX = tuple((10 * n, 10 * n + 1) for n in range(6))
NAMED = (("none", "30", "39", "10"), ("none", "50", "59", "10"))
PARTED = tuple(("7", str(low), str(high), "2") for low, high in SIX)
WAS_SO, IS_NEW, OPEN = (True, True), (False, False), (None, False)
TWENTY = "20 rows are missing, 40 before this repair; main at …000001, where its branch began, has"
LEFT: Mapping[str, tuple[Evidence, Evidence | None, tuple[bool | None, bool], list[str]]] = {
    "what was there before is no fault of the repair's, and is said": (
        told(gaps((30, 39)), BRANCH), told(gaps((30, 39))), WAS_SO,
        [
            "^10 rows are missing, as before this repair; main at …000001, where its branch",
            "The table stays under review until it is fixed and verified",
        ],
    ),
    "of what it mends in part it says what stays": (
        told(gaps((30, 39), (50, 59)), BRANCH, headline="Left.", rows=NAMED), told(gaps((30, 39), (50, 79))), WAS_SO,
        [f"^{TWENTY} these and more. What is left: Left. The gaps: 30 to 39, 50 to 59. This repair"],
    ),
    "an answer names twenty gaps, and a sentence five": (
        told(gaps(*SIX, partition="7"), BRANCH, rows=PARTED), told(gaps(*SIX, (80, 81), partition="7")), WAS_SO,
        ["0 to 1 of partition 7, 10 to 11 of partition 7, ", "40 to 41 of partition 7 and more."],
    ),
    "hidden positions are held by their number, and none is named": (
        told(hidden((30, 39), (50, 59)), BRANCH, headline="Left.", rows=veiled(10, 10)),
        told(hidden((30, 39), (50, 79))), WAS_SO,
        [
            f"{TWENTY} more.",
            "What is left: Left. The contract hides the positions, so only the counts were compared with",
            "compared with main. This repair does not fix it",
        ],
    ),
    "as many hidden ones may be others: who approves it reads so": (
        told(hidden((60, 69), (80, 89)), BRANCH, rows=veiled(10, 10)),
        told(hidden((30, 49)), headline="20 are missing."), WAS_SO,
        ["began, has as many: 20 are missing. The contract hides the positions"],
    ),
    "one hidden position more": (told(hidden((30, 40)), BRANCH), told(hidden((30, 39))), IS_NEW, []),
    "one row more": (
        told(gaps((30, 40)), BRANCH), told(gaps((30, 39))), IS_NEW, ["It was not so before this repair"],
    ),
    "rows where none was missing": (
        told(gaps((30, 40)), BRANCH), told(gaps(), verdict=Verdict.RULED_OUT), IS_NEW, [],
    ),
    "main was not asked": (told(gaps((30, 39)), BRANCH), None, OPEN, ["could not check main"]),
    "main has moved on": (
        told(gaps((30, 39)), BRANCH), told(gaps((30, 39)), SnapshotId(7_000_009)), OPEN, ["main is at …000009"],
    ),
    "main cannot tell": (
        told(gaps((30, 39)), BRANCH), told(None, verdict=Verdict.INCONCLUSIVE), OPEN,
        ["the answer for main is: So it is."],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("branch", "main", "outcome", "says"), LEFT.values(), ids=LEFT)
def test_what_a_branch_misses_is_held_against_main(
    branch: Evidence, main: Evidence | None, outcome: tuple[bool | None, bool], says: list[str]
) -> None:
    """What was missing before is left; what is missing besides has failed; without an answer nothing is known."""
    check = no_more_than_main(CHECK, branch, main, BASE)

    assert (check.passed, check.was_before) == outcome
    assert check.passed is not True or check.name == "No additional missing rows"
    assert all(check.sentence.startswith(each[1:]) if each[0] == "^" else each in check.sentence for each in says)


BEGUN = datetime(2026, 11, 23, 3, tzinfo=UTC)
DROP = DropBranch(table=TableName("sales.orders"), branch="recovery-wl-1", head=SnapshotId(2))
START = StartJob(job="orders", path="/s/3", checkpoint_id=CheckpointId(3), on_top_of=SnapshotId(1))
START_CHECK = Check(name="The start duplicated no rows", passed=False, sentence="Rows are there twice.")


def start_told(verdict: Verdict, finding: Finding | None, minutes: int = -5) -> Any:
    """An answer so many minutes after the execution began."""
    return SimpleNamespace(verdict=verdict, finding=finding, at=BEGUN + timedelta(minutes=minutes))


def ran(evidence: Any, branch: str | None = None, task: str = "duplicate_rows") -> Any:
    """A run of a task, as the incident keeps it."""
    return SimpleNamespace(task=task, branch=branch, evidence=evidence)


def before(*runs: Any) -> int | None:
    """What was counted before an execution that began at `BEGUN`."""
    incident: Any = SimpleNamespace(runs=dict(enumerate(runs)))
    view: Any = SimpleNamespace(execution_started_at=BEGUN)
    return counted_before(incident, view, "duplicate_rows")


def test_it_is_asked_only_where_a_job_is_started() -> None:
    """A branch that goes repeats and loses nothing; other actions are proven by a table that is right."""

    def asked(action: Any, *effects: Any) -> list[str]:
        view: Any = SimpleNamespace(proposal=SimpleNamespace(effects=effects))
        return [task for task, _ in proofs_of_start(action, view)]

    assert asked(drop_repair_branch.ACTION, START, DROP) == ["duplicate_rows", "missing_positions"]
    assert asked(drop_repair_branch.ACTION, DROP) == []
    assert asked(restore_job_at_head.ACTION, START) == []


def test_what_counts_is_the_newest_answer_of_main_before_the_execution() -> None:
    """Not one of the branch, which was repaired; nor one of an earlier verification; nor one that could not tell."""
    earlier = start_told(Verdict.CONFIRMED, twice(keys=10), -60)
    newest = start_told(Verdict.CONFIRMED, twice(keys=20))
    of_branch = ran(start_told(Verdict.RULED_OUT, twice(keys=0)), branch="recovery-wl-1")
    verified = ran(start_told(Verdict.CONFIRMED, twice(keys=30), 5))
    silent = ran(start_told(Verdict.INCONCLUSIVE, None))
    other = ran(start_told(Verdict.CONFIRMED, gaps(missing=7)), task="missing_positions")

    assert before(ran(earlier), ran(newest), of_branch, verified, silent, ran(None), other) == 20
    assert before(of_branch, verified) is None


@pytest.mark.parametrize(("now", "passed"), [(9, True), (10, True), (11, False)])
@pytest.mark.parametrize("count", [lambda n: twice(keys=n), lambda n: gaps(missing=n)])
def test_no_more_than_before_is_passed(count: Any, now: int, passed: bool) -> None:
    """One row more is the start's, as far as anybody can tell."""
    check = no_more_than_before(START_CHECK, start_told(Verdict.CONFIRMED, count(now)), 10)

    assert check.passed is passed
    assert f"10 such rows were counted before the start, {now} now" in check.sentence


def test_what_nobody_had_counted_is_not_known() -> None:
    """Neither passed nor failed."""
    check = no_more_than_before(START_CHECK, start_told(Verdict.CONFIRMED, twice(keys=10)), None)

    assert check.passed is None
    assert "nobody had checked" in check.sentence


def test_a_table_that_is_right_or_could_not_be_read_is_told_as_ever() -> None:
    """Ruled out is passed, whatever was before; no answer stays none."""
    clean = START_CHECK.model_copy(update={"passed": True})
    silent = START_CHECK.model_copy(update={"passed": None})

    assert no_more_than_before(clean, start_told(Verdict.RULED_OUT, twice(keys=0)), None) == clean
    assert no_more_than_before(silent, start_told(Verdict.INCONCLUSIVE, None), 10) == silent
    assert no_more_than_before(silent, None, 10) == silent


def repaired(story: Story) -> Story:
    """The rewind was proposed on the first answer, and carried out."""
    return story.proposes().approves().rewinds()


def deduplicated(story: Story) -> Story:
    """A repair that cites the answer too, and mends doubled rows alone, was carried out."""
    made = rewind(story.now).model_copy(update={"action": "deduplicate_rows", "repairs": ("duplicate_rows",)})
    return story.says(ProposalMade(step=None, proposal=made), by=ANA).approves().rewinds()


def test_a_repair_of_another_fault_excuses_nothing_that_it_does_not_mend(story: Story) -> None:
    """Rows were doubled and missing; the doubled ones were taken out, and the commits with the gap have expired."""
    now, whole = orders.table_state(), Window(since=None, until=orders.HEAD)
    story.answers("missing_positions", window=whole, oldest=SnapshotId(999))

    deduplicated(story).answers(
        "missing_positions", verdict=Verdict.RULED_OUT, window=whole, oldest=now.chain[-1].snapshot_id
    )

    assert [each.task for each in accused(story.incident, now)] == ["missing_positions"]
    assert nothing_left(story.incident, now) is not None


@pytest.mark.parametrize(
    ("then", "stays"),
    [
        pytest.param(lambda story: story, True, id="nobody repairs it"),
        pytest.param(deduplicated, False, id="doubled rows were taken out"),
        pytest.param(repaired, False, id="a repair was proposed on it"),
        pytest.param(lambda story: undoes_the_rewind(repaired(story)), True, id="and is undone"),
    ],
)
def test_what_no_later_look_covers_keeps_a_table_under_review(
    story: Story, then: Callable[[Story], Story], stays: bool
) -> None:
    """The commits that it accused have expired, and a newer look at the whole table has not seen them."""
    now, whole = orders.table_state(), Window(since=None, until=orders.HEAD)
    story.answers(window=whole, oldest=SnapshotId(999))

    then(story).answers(verdict=Verdict.RULED_OUT, window=whole, oldest=now.chain[-1].snapshot_id)

    assert not accusations(story.incident)
    assert stays == bool(accused(story.incident, now))
    assert stays == (nothing_left(story.incident, now) is not None)
