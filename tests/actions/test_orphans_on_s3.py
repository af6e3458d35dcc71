"""Orphan files of a table that Hadoop's S3 client wrote: `s3a://` in its metadata, `s3://` in what evidence lists."""

from functools import partial

from bot.actions import remove_orphan_files, undo_proposal
from bot.actions._undoing import brought_back
from bot.adapters.storage import TableStorage
from bot.adapters.table_files import FolderOfTable
from bot.domain.file_changes import MovedFiles
from tests.actions.orphan_plans import NAME, move_of, planned
from tests.actions.scene import Scene
from tests.adapters.vended_s3 import BUCKET, VendedS3, s3
from tests.tables import ORDERS

__all__ = ["s3"]


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
