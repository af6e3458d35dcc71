"""Delete the wrong copies of rows that are in the table more than once, and nothing else (facts F1, F2, F3).

For repeated rows whose files hold other rows as well, or were written anew since. They are deleted by file and place:
no data file is written anew, so that no row rises above a delete by key that came before.
"""

from collections.abc import Mapping

from bot.actions._support.passed import must_have_passed
from bot.actions._support.staging import branch_for, must_be_writable, rehearsal_of
from bot.history.case import Case
from bot.history.other_jobs import OtherJobs
from bot.incident.action import Action, Plan
from bot.incident.effects import DeleteRows
from bot.incident.proposal import Proposal
from bot.observation.errors import Refused
from bot.observation.findings import ExtraCopiesFinding
from bot.observation.ids import short
from bot.observation.sentences import counted
from bot.observation.snapshot import DELETED_FROM
from bot.observation.table import Snapshot


def said_of_copies(case: Case, extra: ExtraCopiesFinding) -> dict[str, str]:
    """What the summary says: by which commits the rows had come, so that a rewind below all copies does not miss what
    was deleted. Nothing unless each key lives twice, and both copies are the job's, each by a reading of its own: the
    job would bring its copy again beside another writer's, and twice what its source gives twice."""
    found, by_id = case.duplicates, case.observation.table.by_id
    deleted = {each.snapshot_id for each in extra.commits}
    if found is None or found.within_commit or not found.names_all_commits:
        return {}
    pairs = [
        (by_id[each.first], by_id[each.second]) for each in found.pairs if {each.first, each.second} <= by_id.keys()
    ]
    is_known = sum(each.keys for each in found.pairs) == found.keys and len(pairs) == len(found.pairs)
    is_told = sum(each.rows for each in extra.commits) == extra.rows
    if not (is_known and is_told and deleted <= {s.snapshot_id for pair in pairs for s in pair}):
        return {}
    other_jobs = OtherJobs(case)
    if other_jobs.is_untold or not all(_are_read_apart(other_jobs, *pair) for pair in pairs):
        return {}
    return {DELETED_FROM: ",".join(map(str, sorted(deleted)))}


def _are_read_apart(other_jobs: OtherJobs, first: Snapshot, second: Snapshot) -> bool:
    """Whether both are the job's, which had read these rows, or committed them, once more for the second."""
    for each in (first, second):
        if each.job_id is None or each.is_repair or other_jobs.has(each) or other_jobs.has_run(each.job_id):
            return False
    if first.job_id != second.job_id:
        return True
    is_like = first.operator_id == second.operator_id and first.snapshot_id != second.snapshot_id
    return is_like and (second.checkpoint_id or 0) <= (first.checkpoint_id or 0)


ACTION = Action(
    name="deduplicate_rows",
    title="Deduplicate rows",
    promise="The table has each key of the window once: its oldest copy, or the newest where that is declared. "
    "Every other row stays.",
    needs=("duplicate_rows", "extra_copies"),
    proofs=(
        ("duplicate_rows", "No duplicate rows"),
        ("missing_positions", "No missing rows"),
    ),
    no_more_than_before=("missing_positions",),
    on_request=True,
    repairs=("duplicate_rows",),
    moves_waterline="trusted",
)
MOST_ROWS = 1_000_000
"""More than a replay of some checkpoints brings; so many are better taken out by a rewind."""


def propose(plan: Plan) -> Proposal:
    """A rehearsal without the extra copies. Raises Refused with the reason, CouldNotLook."""
    table = plan.case.observation.table
    must_be_writable(table)
    found = _extra(plan.case)
    delete = DeleteRows(
        table=table.name,
        branch=branch_for(plan),
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
            f"Delete {counted(found.rows, 'row')} of {counted(files, 'file')} there by file and position: every "
            f"copy of {counted(found.keys, 'key')} but the {found.rule.keep}. These rows came with "
            f"{_brought(found)}.",
            f"All copies of a key are equal in every column{found.rule.but}. The data files stay as they are; "
            "readers skip the deleted rows.",
            *untold,
        ),
        proof="no duplicate rows, no missing rows",
    )


def _extra(case: Case) -> ExtraCopiesFinding:
    """What can be deleted without a decision about values. Raises Refused where that is not so."""
    found = case.extra_copies
    if found is None or not found.rows:
        raise Refused(
            "There is no extra copy to delete.",
            "Expected rows of the window that duplicate an older copy of their key; the evidence “extra_copies” "
            "found none.",
            "No row needs a repair. Look at the other evidence.",
        )
    if found.differing:
        raise Refused(
            f"The copies of {counted(found.differing, 'key')} differ, so deleting one of them would lose a value.",
            f"Expected all copies of a key to be equal; they differ in {_columns(found.columns)}.",
            "Roll back table and job: the job then writes these rows again. If each write sets these columns, the "
            f"table's owners can declare that (`copies` under `tables.{case.observation.table.name}`). Then restart "
            "Waterline and propose again.",
        )
    if found.twice_named:
        raise Refused(
            f"{counted(found.twice_named, 'row')} cannot be distinguished from their copies: the table lists "
            "their file twice.",
            "Expected each copy at its own position; a delete by position would remove both.",
            "Propose drop_duplicated_commit, which removes one of the two references. If that is refused, roll "
            "back table and job.",
        )
    if not found.is_whole or found.rows > MOST_ROWS:
        scattered = "" if found.is_whole else ", in more than 5,000 separate ranges"
        raise Refused(
            f"There are too many extra copies to delete them one by one: {counted(found.rows, 'row')}{scattered}.",
            f"Expected at most {MOST_ROWS:,} rows, in contiguous ranges as a replay writes them.",
            "Roll back table and job instead, or open an incident with a shorter window.",
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
