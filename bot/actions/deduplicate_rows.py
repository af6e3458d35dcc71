"""Delete the wrong copies of rows that are in the table more than once, and nothing else (facts F1, F2, F3).

For repeated rows whose files hold other rows as well, or were written anew since. They are deleted by file and place:
no data file is written anew, so that no row rises above a delete by key that came before.
"""

from collections.abc import Mapping

from bot.actions._passed import must_have_passed
from bot.actions._rehearsing import must_be_writable, rehearsal_of
from bot.actions._whose_copies import said_of_copies
from bot.domain.action import Action, Plan
from bot.domain.diagnosis import Case
from bot.domain.effects import DeleteRows
from bot.domain.errors import Refused
from bot.domain.findings import ExtraCopiesFinding
from bot.domain.ids import short
from bot.domain.proposal import Proposal
from bot.domain.sentences import counted

ACTION = Action(
    name="deduplicate_rows",
    title="Deduplicate rows",
    promise="Each key of the window is in the table once, in its oldest copy, or in the newest where that is declared. "
    "Every other row stays.",
    needs=("duplicate_rows", "extra_copies"),
    looks=("extra_copies",),
    proofs=(
        ("duplicate_rows", "No row is there twice"),
        ("missing_positions", "No row is missing"),
    ),
    no_more_than_before=("missing_positions",),
    on_request=True,
    moves_waterline="trusted",
)
MOST_ROWS = 1_000_000
"""More than a replay of some checkpoints brings; so many are better taken out by a rewind."""


def propose(plan: Plan) -> Proposal:
    """A rehearsal without the extra copies. Raises Refused with the reason, CouldNotLook."""
    table = plan.case.observation.table
    must_be_writable(table)
    found = _extra(plan.case)

    def delete(branch: str) -> DeleteRows:
        return DeleteRows(
            table=table.name,
            branch=branch,
            incident=plan.incident,
            why="Delete extra copies",
            rows=found.places,
            carries=said_of_copies(plan.case, found),
        )

    untold, files = must_have_passed(plan), len(found.places)
    return rehearsal_of(
        plan,
        ACTION,
        delete,
        title=f"{ACTION.title}: {counted(found.rows, 'row')}",
        sentences=(
            f"Delete {counted(found.rows, 'row')} of {counted(files, 'file')} there by file and place: of "
            f"{counted(found.keys, 'key')} every copy but the {found.rule.keep}. Brought by "
            f"{_brought(found)}.",
            f"All copies of a key are equal in every column{found.rule.but}. The files stay as they are; readers pass "
            "over the deleted rows.",
            *untold,
        ),
        proof="no row is there twice, no row is missing",
    )


def _extra(case: Case) -> ExtraCopiesFinding:
    """What can be deleted without a decision about values. Raises Refused where that is not so."""
    found = case.extra_copies
    if found is None or not found.rows:
        raise Refused(
            "There is no extra copy to delete.",
            "Expected rows of the window that repeat an older copy of their key; the evidence “extra_copies” found "
            "none.",
            "Nothing has to be done about rows. Look at the other evidence.",
        )
    if found.differing:
        raise Refused(
            f"The copies of {counted(found.differing, 'key')} differ, so that deleting one of them would lose a value.",
            f"Expected all copies of a key to be equal; they differ in {_columns(found.columns)}.",
            "Rewind table and job, which writes these rows anew. If these columns are set by each writing, let the "
            f"table's owners declare so (`copies` under `tables.{case.observation.table.name}`), restart Waterline, "
            "and propose again.",
        )
    if found.twice_named:
        raise Refused(
            f"{counted(found.twice_named, 'row')} cannot be told from their copies: the table names their file twice.",
            "Expected every copy in a place of its own; a delete by place would take both.",
            "Propose drop_duplicated_commit: it takes one of the two references out. Where it is refused, rewind table "
            "and job.",
        )
    if not found.is_whole or found.rows > MOST_ROWS:
        scattered = "" if found.is_whole else ", in more than 5,000 separate places"
        raise Refused(
            f"There are too many extra copies to delete them one by one: {counted(found.rows, 'row')}{scattered}.",
            f"Expected at most {MOST_ROWS:,} rows, in unbroken runs as a replay writes them.",
            "Rewind table and job instead, or open an incident of a shorter window.",
        )
    return found


def _columns(differing: Mapping[str, int]) -> str:
    return ", ".join(
        f"{name} ({keys:,})" for name, keys in sorted(differing.items(), key=lambda each: (-each[1], each[0]))
    )


def _brought(found: ExtraCopiesFinding) -> str:
    told = [f"{short(each.snapshot_id)} ({counted(each.rows, 'row')})" for each in found.commits]
    if found.below:
        told.append(f"commits before the window ({counted(found.below, 'row')})")
    if found.hidden:
        told.append(f"commits that a compaction hides ({counted(found.hidden, 'row')})")
    return ", ".join(told)
