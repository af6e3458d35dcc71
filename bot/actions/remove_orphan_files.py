"""Put files that nothing names aside: into a folder of the table, with the list of where each came from.

Nothing is deleted. Never touched: a file younger than the safe age, and one that a run which is alive may have written
after its last completed checkpoint.
"""

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256

from bot.actions._draft import drafted, living, living_others
from bot.domain.action import Action, Plan
from bot.domain.effects import MoveFiles
from bot.domain.errors import Refused
from bot.domain.flink import CheckpointKind
from bot.domain.paths import ASIDE, below, plain, told_apart
from bot.domain.proposal import Proposal
from bot.domain.sentences import counted
from bot.domain.table import TableState

ACTION = Action(
    name="remove_orphan_files",
    title="Move orphan files aside",
    promise="Files that nothing references are moved to a folder of their own, and can be moved back.",
    needs=("orphan_files",),
    proofs=(("unreadable_files", "Every file of the window exists with its recorded size"),),
    moves_waterline="no",
)


def propose(plan: Plan) -> Proposal:
    """The files that the evidence lists and that are old enough, one by one. Raises Refused, CouldNotLook."""
    table, found = plan.case.observation.table, plan.case.orphans
    listed = found.paths if found else ()
    if not listed or found is None:
        raise Refused(
            "There is no orphan file to move aside.",
            "Expected the evidence “orphan_files” to list some; it lists none.",
            "Nothing needs to be done about files.",
        )
    written = plan.written_at(listed)
    if not written:
        raise Refused(
            "The orphan files that the evidence lists have been moved or removed since.",
            f"Expected some of {len(listed)} listed files at their place; none is there.",
            "Type `/waterline run orphan_files`, which lists the next ones if there are any. Then propose again.",
        )
    safe_from = _safe_from(plan)
    old = sorted({path for path in listed if (at := written.get(path)) is not None and at < safe_from})
    if not old:
        raise Refused(
            "No orphan file is old enough to be moved aside.",
            f"Expected files from before {safe_from:%Y-%m-%d %H:%M} UTC; all {len(listed)} listed ones are younger.",
            "Wait: a younger file may still be committed, and orphan files only cost space.",
        )
    folder = f"{table.location.rstrip('/')}/{ASIDE}/{plan.incident}-{plan.proposal[-4:].lower()}"
    moves = tuple((path, f"{folder}/{_place(path, table)}") for path in old)
    _must_differ(moves)
    left = found.orphans - len(old)
    sentences = [
        f"Move {len(old)} files that no snapshot and no Flink manifest references into {folder}. The list of them "
        f"is kept there as moved.json.{_left(left)}",
        *(f"{name}, written {written[path]:%Y-%m-%d %H:%M} UTC." for path, name in told_apart(old).items()),
        "Verify: every file of the window exists with its recorded size.",
    ]
    return drafted(
        plan,
        ACTION,
        title=f"{ACTION.title}: {len(old)} files",
        effects=(MoveFiles(table=table.name, why="Move orphan files aside", moves=moves, note=f"{folder}/moved.json"),),
        sentences=sentences,
        sure=f"{len(old)} files that nothing references are moved aside; no row changes.",
        undo=(
            "`/waterline undo` moves the files back; this deletes nothing. Maintenance that removes orphan files "
            "will delete them there for good when it is allowed again."
        ),
    )


def _left(files: int) -> str:
    """How it goes on with the others, a sentence that begins with a blank; empty where there are none."""
    if not files:
        return ""
    return (
        f" {counted(files, 'further orphan')} stay{'s' if files == 1 else ''} for now. Run orphan_files again "
        "afterwards, which lists the oldest that are left, and propose again."
    )


def _safe_from(plan: Plan) -> datetime:
    """Only files from before this moment: the safe age, and the last completed checkpoint of each living run, those of
    the table's other jobs among them. Raises CouldNotLook."""
    safe = plan.at - plan.orphan_safe_age
    for run in (*living(plan), *living_others(plan)):
        done = [
            c.triggered_at
            for c in run.checkpoints
            if c.status == "COMPLETED" and c.kind is not CheckpointKind.SAVEPOINT
        ]
        safe = min(safe, max(done, default=run.started_at))
    return safe


def _place(path: str, table: TableState) -> str:
    """Its place in the folder: as below the table; of one that lies elsewhere, in a folder for the one it lies in."""
    inside = below(path, table.location)
    if inside is not None:
        return inside
    parent, _, name = plain(path).rpartition("/")
    return f"elsewhere-{sha256(parent.encode()).hexdigest()[:8]}/{name}"


def _must_differ(moves: Sequence[tuple[str, str]]) -> None:
    """Raises Refused where two files would go to one place."""
    first: dict[str, str] = {}
    for source, target in moves:
        other = first.setdefault(target, source)
        if other != source:
            raise Refused(
                "Two orphan files would be moved to one place.",
                f"Expected a place for each; found {target} for {other} and for {source}.",
                "Move one of them by hand if it is in the way. Then run orphan_files again and propose again.",
            )
