"""Orphan files are put aside and come back: batches, names, other jobs' files, and S3."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

import pytest

from bot.actions import remove_orphan_files, undo_proposal
from bot.actions._undoing import brought_back
from bot.adapters.storage import TableStorage
from bot.adapters.table_files import FolderOfTable
from bot.domain.action import Plan
from bot.domain.effects import MoveFiles
from bot.domain.errors import CouldNotLook, Refused
from bot.domain.file_changes import MovedFiles
from bot.domain.findings import OrphanFilesFinding
from bot.domain.flink import JobRun
from bot.domain.looked import NotSeen, Seen
from tests.actions.orphan_plans import NAME, YEARS_AGO, move_of, planned
from tests.actions.scene import Scene
from tests.adapters.vended_s3 import BUCKET, VendedS3, s3
from tests.little_flink import JOB
from tests.tables import ORDERS, job

__all__ = ["s3"]


def below(moves: Sequence[tuple[str, str]], location: str) -> list[str]:
    """Where the files go, below the proposal's folder."""
    assert all(target.startswith(f"{location}/waterline-quarantine/") for _, target in moves)
    return [target.removeprefix(f"{location}/waterline-quarantine/").partition("/")[2] for _, target in moves]


@pytest.mark.parametrize(
    ("location", "listed"),
    [
        ("s3a://lake/orders", "s3://lake/orders"),
        ("s3n://lake/orders", "s3://lake/orders"),
        ("file:///lake/orders", "/lake/orders"),
        ("file:/lake/orders", "/lake/orders"),
        ("/lake/orders", "file:///lake/orders"),
        ("s3://lake/orders", "s3://lake/orders"),
    ],
)
def test_files_below_the_location_keep_their_folders_however_it_is_spelt(
    scene: Scene, location: str, listed: str
) -> None:
    """Evidence lists plain paths, the table says its location as its writer did."""
    paths = (f"{listed}/data/day=1/{NAME}", f"{listed}/data/day=2/{NAME}")

    proposal = remove_orphan_files.propose(planned(scene, location, *paths))

    moves = move_of(proposal).moves
    assert [source for source, _ in moves] == list(paths)
    assert below(moves, location) == [f"data/day=1/{NAME}", f"data/day=2/{NAME}"]
    said = [sentence for sentence in proposal.preview.sentences if NAME in sentence]
    assert [each.partition(",")[0] for each in said] == [f"day=1/{NAME}", f"day=2/{NAME}"]


def test_files_elsewhere_have_a_folder_for_each_folder_they_come_from(scene: Scene) -> None:
    """The same each time, and never the one of another folder: `…/orders-old` is not below `…/orders`."""
    paths = (f"s3://hot/a/{NAME}", f"s3://hot/b/{NAME}", f"s3://lake/orders-old/data/{NAME}")

    plan = planned(scene, "s3://lake/orders", *paths)
    first, second = (below(move_of(remove_orphan_files.propose(plan)).moves, "s3://lake/orders") for _ in range(2))

    assert first == second
    assert len({each.rpartition("/")[0] for each in first}) == 3
    assert all(each.startswith("elsewhere-") and each.endswith(f"/{NAME}") for each in first)


def test_two_files_for_one_place_are_refused(scene: Scene) -> None:
    """The second would be lost, or stay."""
    plan = planned(scene, "s3://lake/orders", f"s3://lake/orders/data/{NAME}", f"s3a://lake/orders/data/{NAME}")

    with pytest.raises(Refused, match=r"one place.*s3a?://lake/orders/data"):
        remove_orphan_files.propose(plan)


@pytest.mark.parametrize(
    ("there", "expected"),
    [({"/aside/x", "/b/x"}, "/a/x"), ({"/aside/x"}, "/b/x"), ({"/aside/x", "/a/x", "/b/x"}, "/a/x")],
    ids=["the second was left", "the second took its place", "the first was copied only"],
)
def test_what_an_earlier_version_moved_to_one_place_comes_back_once(
    scene: Scene, there: set[str], expected: str
) -> None:
    """The file that lies there is the last one that is gone from its own place."""
    plan = planned(scene, "/lake/orders").model_copy(
        update={"written_at": lambda asked: {path: YEARS_AGO for path in asked if path in there}}
    )
    aside = MoveFiles(
        table=ORDERS, why="", moves=(("/a/x", "/aside/x"), ("/b/x", "/aside/x")), note="/aside/moved.json"
    )

    undo = brought_back(plan, undo_proposal.ACTION, aside, "Undo")

    assert move_of(undo).moves == (("/aside/x", expected),)


FILE = f"/lake/sales/orders/data/{NAME}"


def beside(scene: Scene, others: Seen[JobRun] | NotSeen) -> Plan:
    """The table's own job stands still."""
    plan = planned(scene, "/lake/sales/orders", FILE)
    observation = plan.case.observation.model_copy(update={"others": others})
    return plan.model_copy(update={"case": plan.case.model_copy(update={"observation": observation})})


def run_of_other(scene: Scene, **change: object) -> Seen[JobRun]:
    """It has completed no checkpoint since it began."""
    own = scene.flink.run(job("a"))
    assert own is not None
    told = {"job_id": job("b"), "name": "backfill", "state": "RUNNING", "ended_at": None, "checkpoints": ()}
    return Seen[JobRun](source="Flink", values=(own.model_copy(update={**told, **change}),))


def test_a_file_that_it_may_have_closed_stays(scene: Scene) -> None:
    """It was alive when the file was written, and nothing names such files before its next checkpoint."""
    began: datetime = YEARS_AGO

    with pytest.raises(Refused, match="No orphan file is old enough"):
        remove_orphan_files.propose(beside(scene, run_of_other(scene, started_at=began)))


def test_what_was_there_before_it_goes(scene: Scene) -> None:
    """The run began later."""
    proposal = remove_orphan_files.propose(beside(scene, run_of_other(scene)))

    assert [source for source, _ in move_of(proposal).moves] == [FILE]


def test_nothing_is_put_aside_while_its_flink_cannot_be_asked(scene: Scene) -> None:
    """Not seen is not ended."""
    with pytest.raises(CouldNotLook, match="its Flink does not answer"):
        remove_orphan_files.propose(beside(scene, NotSeen(source="Flink", reason="Timeout.", remedy="Wait.")))


def test_two_files_of_one_name_are_put_aside_and_come_back_each_to_its_own_path(scene: Scene, s3: VendedS3) -> None:
    """No content is lost on the way, and twice is as once."""
    contents = {f"s3://{BUCKET}/orders/data/day={day}/{NAME}": b"rows of day %d" % day for day in (1, 2)}
    for path, content in contents.items():
        s3.puts(path, content)
    storage = TableStorage({})
    storage.learn(ORDERS, s3.properties)
    files = FolderOfTable(storage)
    plan = planned(scene, f"s3a://{BUCKET}/orders", *contents)

    aside = move_of(remove_orphan_files.propose(plan))
    moved = [files.move(ORDERS, aside.moves, aside.note) for _ in range(2)]
    kept = [s3.content(target.replace("s3a://", "s3://")) for _, target in aside.moves]
    looking = plan.model_copy(update={"written_at": partial(files.written_at, ORDERS)})
    undo = move_of(brought_back(looking, undo_proposal.ACTION, aside, "Undo"))
    back = [files.move(ORDERS, undo.moves, undo.note) for _ in range(2)]

    assert moved == back == [MovedFiles(arrived=2)] * 2
    assert kept == list(contents.values())
    assert {path: s3.content(path) for path in contents} == contents


LISTED = tuple(f"/lake/sales/orders/data/left-{number:02d}.parquet" for number in range(20))
BATCHES_YEARS_AGO = datetime(2023, 11, 14, tzinfo=UTC)


def batches_planned(scene: Scene, *, there: tuple[str, ...], orphans: int) -> Plan:
    """The evidence lists twenty; of them these are still where they were."""
    scene.flink.stop(JOB, job("a"))
    plan = scene.plan()
    found = OrphanFilesFinding(files_listed=90, orphans=orphans, bytes=4, young=0, paths=LISTED)
    case = plan.case.model_copy(update={"orphans": found})
    return plan.model_copy(update={"case": case, "written_at": lambda _paths: dict.fromkeys(there, BATCHES_YEARS_AGO)})


def test_how_many_are_left_and_how_it_goes_on_is_told(scene: Scene) -> None:
    """Twenty of forty-three."""
    proposal = remove_orphan_files.propose(batches_planned(scene, there=LISTED, orphans=43))

    assert "Move 20 files" in proposal.preview.sentences[0]
    assert "23 further orphans stay for now. Run orphan_files again" in proposal.preview.sentences[0]


def test_where_all_were_listed_nothing_is_left(scene: Scene) -> None:
    """Nothing is said of others."""
    assert (
        "further"
        not in remove_orphan_files.propose(batches_planned(scene, there=LISTED, orphans=20)).preview.sentences[0]
    )


def test_files_that_were_put_aside_before_are_not_called_too_young(scene: Scene) -> None:
    """The evidence is older than the last batch: it is to be run again."""
    with pytest.raises(Refused, match=r"moved or removed since\..*`/waterline run orphan_files`"):
        remove_orphan_files.propose(batches_planned(scene, there=(), orphans=43))
