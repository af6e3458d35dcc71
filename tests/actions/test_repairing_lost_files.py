"""One repair takes out every lost data file that any evidence found, and states the rows of each commit."""

from pathlib import Path

import pytest

from bot.actions import repair_unreadable_files
from bot.domain.action import Plan
from bot.domain.effects import ChangeFiles
from bot.domain.errors import Refused
from bot.domain.evidence import Evidence, Verdict
from bot.domain.findings import MissingFilesFinding, UnreadableFile
from bot.domain.ids import EvidenceId, SnapshotId, short
from bot.domain.looked import NotSeen
from bot.domain.proposal import Proposal
from tests.actions.scene import Scene
from tests.found import unreadable
from tests.tables import ORDERS

pytestmark = pytest.mark.smoke


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

    return plan.model_copy(update={"case": plan.case.model_copy(update=found), "survey": survey})


def told(proposal: Proposal) -> tuple[str, int, int]:
    """All sentences, and how many files with how many rows go."""
    change = next(each for each in proposal.effects if isinstance(each, ChangeFiles))
    assert change.remove is not None
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
    plan = plan.model_copy(update={"case": plan.case.model_copy(update={"evidence": (evidence,)})})

    said, files, rows = told(repair_unreadable_files.propose(plan))

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

    with pytest.raises(Refused) as refused:
        repair_unreadable_files.propose(planned(scene, unreadable=unreadable(), missing_files=found))

    assert said in refused.value.remedy


def test_files_that_nobody_names_of_commits_that_have_expired_are_refused(scene: Scene) -> None:
    """A repair that leaves some behind could not be proven."""
    found = missing(lost(file_of(scene, 1), SnapshotId(7)), count=21)

    with pytest.raises(Refused, match="no longer listed"):
        repair_unreadable_files.propose(planned(scene, unreadable=unreadable(), missing_files=found))
