"""What holds for every action; which are destructive, and what an approval covers."""

import os
from pathlib import Path

import pytest

import spark_tasks
from bot import actions
from bot.actions import repair_unreadable_files, take_savepoint
from bot.actions._support.completing import must_be_destructive, scan
from bot.actions._support.staging import every, listed, within
from bot.evidence import find_tasks
from bot.incident.action import Action, Plan
from bot.incident.doubt import ACCUSERS
from bot.incident.effects import ChangeFiles, DropBranch, Effect, MarkTable, StopFork
from bot.incident.proposal import Proposal
from bot.observation.errors import Refused
from bot.observation.evidence import Evidence, Verdict
from bot.observation.findings import MissingFilesFinding, UnreadableFile
from bot.observation.ids import EvidenceId, JobId, SnapshotId, short
from bot.observation.looked import NotSeen
from bot.observation.replay import PositionRange, ReplayRange
from tests import orders_table as orders
from tests.actions.plans import answering
from tests.actions.scene import Scene, refusal
from tests.decisions import rewind
from tests.found import unreadable
from tests.rewound import ANA
from tests.tables import CONTRACT, ORDERS

pytestmark = pytest.mark.smoke

ACTIONS = scan(actions, os.environ.get("WATERLINE_ACTIONS", "").split())
TASKS = frozenset(find_tasks(spark_tasks))


@pytest.mark.parametrize("name", ACTIONS)
def test_it_declares_itself_in_sentences_and_by_evidence_that_exists(name: str) -> None:
    """A button, a promise, and tasks by which it is proposed and proven."""
    action = ACTIONS[name].action

    assert action.title[0].isupper()
    assert not action.title.endswith(".")
    assert action.promise.endswith(".")
    assert {*action.needs, *(task for task, _ in (*action.proofs, *action.proofs_of_start))} <= TASKS


ON_A_BRANCH = "made on a branch; given up, nothing of main has changed, and its publication has an undo of its own"
A_RUN = "the job alone: its state stays on storage, and the undo starts it again from there"
DESTRUCTIVE = {
    "drop_repair_branch": "the branch and its commits go, and no undo makes them again",
    "resolve_fork": "one of two writers is stopped for good: Waterline starts no second writer, also not as an undo",
}
"""Action -> what it takes away."""
NOT_DESTRUCTIVE = {
    "change_operator_uid": A_RUN,
    "deduplicate_rows": ON_A_BRANCH,
    "drop_duplicated_commit": ON_A_BRANCH,
    "restore_job_at_head": A_RUN,
    "free_checkpoint_folder": A_RUN,
    "protect_last_commit": "it adds tags",
    "publish_repair": "the head that is left stays under a tag, to which the undo moves main back",
    "recover_leaked_manifests": ON_A_BRANCH,
    "repair_unreadable_files": "what it drops was lost on storage before; the references stay under the tag",
    "replay_rows": ON_A_BRANCH,
    "replay_source_range": ON_A_BRANCH,
    "restart_from_stop_savepoint": A_RUN,
    "restart_with_new_job_id": A_RUN,
    "restore_job_only": A_RUN,
    "restore_lost_commits": ON_A_BRANCH,
    "roll_back_table_and_restore_job": "the commits that leave main stay under a tag, to which the undo moves it back",
    "take_savepoint": "the undo starts the job from this very savepoint",
    "verify_current_state": "it moves only the mark, which any later finding takes back",
    "undo_proposal": "it can be undone as well: what it leaves behind stays under a tag",
}
"""Action -> why its undo brings everything back."""


REPAIRS = {
    "deduplicate_rows": {"duplicate_rows"},
    "drop_duplicated_commit": {"duplicate_files", "duplicate_rows"},
    "recover_leaked_manifests": {"missing_positions"},
    "repair_unreadable_files": {"unreadable_files", "missing_files"},
    "replay_source_range": {"missing_positions"},
    "restore_lost_commits": {"missing_positions"},
    "roll_back_table_and_restore_job": {*ACCUSERS},
}
"""Action -> what had accused main of the fault that it repairs; every other finding goes on accusing it."""


def test_no_action_excuses_what_it_does_not_repair() -> None:
    """Of the package: who adds an action says it here."""
    own = {name: {*each.action.repairs} for name, each in scan(actions).items() if each.action.repairs}

    assert own == REPAIRS


def test_of_every_action_it_is_said_whether_it_is_destructive_and_why() -> None:
    """Who adds an action decides it, and says so here; a proposal then asks for two teams, or does not."""
    found = {name: module.action.is_destructive for name, module in scan(actions, ()).items()}

    assert {**dict.fromkeys(DESTRUCTIVE, True), **dict.fromkeys(NOT_DESTRUCTIVE, False)} == found


TAG = MarkTable(table=orders.TABLE, why="Tag the head", new_tags={"ours": orders.HEAD})
TAKEN = "`/waterline undo` removes the tag."
BRANCH = DropBranch(table=orders.TABLE, branch="theirs", head=orders.HEAD)
FORK = StopFork(job=orders.JOB, job_id=JobId(orders.RUN_B), keeps=JobId(orders.RUN_A))


@pytest.mark.parametrize(
    ("effect", "undo", "says"),
    [
        (BRANCH, TAKEN, "it removes branch theirs"),
        (FORK, TAKEN, "Waterline starts no second writer"),
        (TAG, "It cannot be undone.", "its undo says “cannot be undone”"),
        (TAG, TAKEN, ""),
    ],
)
def test_what_takes_something_away_for_good_is_not_proposed_as_if_it_did_not(
    effect: Effect, undo: str, says: str
) -> None:
    """Whoever wrote the action: else one team would approve it."""
    ours = Action(name="ours", title="Ours", promise="It is ours.", needs=(), proofs=(), on_request=True)
    proposal = rewind(orders.NINE).model_copy(update={"effects": (effect,), "undo": undo})

    must_be_destructive(proposal, ours.model_copy(update={"is_destructive": True}))

    if not says:
        must_be_destructive(proposal, ours)
        return
    with pytest.raises(Refused) as refused:
        must_be_destructive(proposal, ours)
    assert says in str(refused.value)


def test_nobody_is_asked_to_approve_it(scene: Scene) -> None:
    """The refusal comes before anything is written."""
    made = take_savepoint.propose(scene.plan()).model_copy(update={"undo": "It cannot be undone."})
    proposals = scene.proposing(take_savepoint, lambda _plan: made)

    with pytest.raises(Refused, match="it needs the approval of two teams"):
        proposals.propose(scene.incident, take_savepoint.ACTION.name, step=None, by=ANA)

    assert scene.store.get(scene.incident).proposals == {}


def test_the_page_about_approval_names_them() -> None:
    """Whoever writes a policy `destructive` reads there what it is about."""
    page = (Path(__file__).parents[2] / "docs" / "approval.md").read_text()

    assert all(f"`{name}`" in page for name in DESTRUCTIVE)


def test_every_range_of_a_replay_is_named() -> None:
    """One a partition of the source, of which there are often more than three."""
    ranges = tuple(PositionRange(first=n, last=n + 9, partition=str(n)) for n in range(12))

    told = within(ReplayRange(positions=ranges), CONTRACT)

    assert told.startswith("positions 0 to 9 of partition 0, 1 to 10 of partition 1, ")
    assert told.endswith(", 11 to 20 of partition 11")


def test_every_commit_of_a_repair_is_named_but_for_its_title() -> None:
    """A title has room for three."""
    commits = range(421_001, 421_006)

    assert every(commits).split(", ")[-1].endswith("421005")
    assert listed(commits).endswith("421003 and 2 more")


def file_of(scene: Scene, checkpoint: int) -> Path:
    """The data file of that commit."""
    return sorted(scene.folder.glob("lake/sales/orders/data/*.parquet"), key=lambda each: each.stat().st_mtime)[
        checkpoint - 1
    ]


def lost(path: Path | str, commit: SnapshotId, what: str = "data") -> UnreadableFile:
    """Ten rows of that commit are gone."""
    told = {"path": str(path), "what": what, "snapshot_id": commit, "rows": 10, "problem": "It is missing."}
    return UnreadableFile.model_validate(told)


def missing(*files: UnreadableFile, count: int | None = None) -> MissingFilesFinding:
    """What a look at the whole table finds."""
    commits = tuple(each.snapshot_id for each in files if each.snapshot_id is not None)
    return MissingFilesFinding(
        files_checked=9, count=count or len(files), rows=10 * len(files), commits=commits, files=files
    )


def planned(scene: Scene, **found: object) -> Plan:
    """With this in the case, and the real look at the table's files."""
    plan = scene.plan()

    def survey(add, remove):  # type: ignore[no-untyped-def]
        return scene.catalog.survey_files(ORDERS, "main", add=add, remove=remove, columns=())

    return answering(plan, **found).model_copy(update={"survey": survey})


def told(proposal: Proposal) -> tuple[str, int, int]:
    """All sentences, and how many files with how many rows go."""
    change = next(each for each in proposal.effects if isinstance(each, ChangeFiles))
    return " ".join(proposal.preview.sentences), change.remove.files, change.remove.rows


def test_an_older_missing_file_goes_with_those_of_the_window(scene: Scene) -> None:
    """Whichever evidence names it, and once if both do: the table could not be read otherwise. What each commit loses
    is stated; both looks are asked again on the branch."""
    first, third = scene.snapshot("a", 1), scene.snapshot("a", 3)
    paths = [file_of(scene, n) for n in (1, 3)]
    old, new = (lost(f"file://{path}", at) for path, at in zip(paths, (first, third), strict=True))
    for path in paths:
        path.unlink()

    proposal = repair_unreadable_files.propose(
        planned(scene, unreadable=unreadable(new), missing_files=missing(old, new))
    )

    said, files, rows = told(proposal)
    assert (files, rows) == (2, 20)
    assert f"Lost by the commits that added them: {short(third)} 10 rows, {short(first)} 10 rows." in said
    proofs = [task for task, _ in repair_unreadable_files.ACTION.proofs]
    assert {"unreadable_files", "missing_files"} < set(proofs)


def test_what_has_come_back_since_is_not_dropped(scene: Scene) -> None:
    """The storage's owners restore what they can: storage is asked once more, and what is named and stays is said."""
    paths = [file_of(scene, n) for n in (1, 3)]
    files = [lost(path, scene.snapshot("a", n)) for path, n in zip(paths, (1, 3), strict=True)]
    plan = planned(scene, unreadable=unreadable(*files), missing_files=missing(*files))
    kept = paths[0].read_bytes()
    paths[1].unlink()

    said, count, rows = told(repair_unreadable_files.propose(plan))
    paths[1].write_bytes(kept[:-1])
    of_another_size = told(repair_unreadable_files.propose(plan))[1:]

    assert (count, rows) == of_another_size == (1, 10)
    assert f"; 1 file, the first {paths[0]} can be read again and stays. The table lacks these rows" in said


def test_nothing_is_dropped_where_all_has_come_back(scene: Scene) -> None:
    """The evidence is old: whoever asks for the repair is told so."""
    file = lost(file_of(scene, 2), scene.snapshot("a", 2))

    with pytest.raises(Refused, match="Expected 1 of them; storage now lacks none of them"):
        repair_unreadable_files.propose(planned(scene, unreadable=unreadable(file), missing_files=missing(file)))


def test_a_file_whose_footer_is_damaged_goes_though_it_has_its_size(scene: Scene) -> None:
    """The evidence has read it, and storage is not asked again."""
    file = lost(file_of(scene, 2), scene.snapshot("a", 2)).model_copy(update={"has_its_size": True})

    proposal = repair_unreadable_files.propose(planned(scene, unreadable=unreadable(file), missing_files=missing()))

    assert told(proposal)[1:] == (1, 10)


def test_a_file_that_a_task_could_not_decode_goes_as_well(scene: Scene) -> None:
    """No look at names and sizes finds it."""
    plan = planned(scene, unreadable=unreadable(), missing_files=missing())
    path = f"file:{file_of(scene, 2)}"
    table = plan.case.observation.table
    assert table.head is not None
    told_by = NotSeen(source="evidence", reason="It failed.", remedy="Ask again.", damaged_file=path)
    evidence = Evidence(
        verdict=Verdict.INCONCLUSIVE, headline="A file is damaged.", could_not_look=(told_by,), id=EvidenceId("1"),
        task="duplicate_rows", task_version=1, question="?", metadata_location=table.metadata_location,
        head=table.head, window=plan.case.window, at=table.read_at, took_ms=1, bytes_read=0,
    )  # fmt: skip

    said, files, rows = told(repair_unreadable_files.propose(answering(plan, evidence=(evidence,))))

    assert (files, rows) == (1, 10)
    assert f"{short(scene.snapshot('a', 2))} 10 rows" in said


@pytest.mark.parametrize(
    ("what", "said"), [("deletes", "bring deleted rows back"), ("manifest", "not known which rows it leads to")]
)
def test_what_no_reference_can_be_dropped_of_is_refused_wherever_it_was_found(
    scene: Scene, what: str, said: str
) -> None:
    """Beside data files, too."""
    first = scene.snapshot("a", 1)
    found = missing(lost(file_of(scene, 1), first), lost("/lake/x.avro", first, what))

    refused = refusal(repair_unreadable_files, planned(scene, unreadable=unreadable(), missing_files=found))

    assert said in refused.remedy


def test_files_that_nobody_names_of_commits_that_have_expired_are_refused(scene: Scene) -> None:
    """A repair that leaves some behind could not be proven."""
    found = missing(lost(file_of(scene, 1), SnapshotId(7)), count=21)

    with pytest.raises(Refused, match="no longer listed"):
        repair_unreadable_files.propose(planned(scene, unreadable=unreadable(), missing_files=found))
