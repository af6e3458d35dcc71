"""Whether the table itself is right: what speaks against it, and what is missing to say that nothing does.

Who calls the table healthy and who leaves it as a dead job left it rest on the same; without a column of source
positions nobody can show that no row is missing, and then neither can tell.
"""

from bot.diagnosis._arrivals import unaccounted
from bot.diagnosis._asked import lacking, unasked
from bot.diagnosis._began_over_expired import may_have_begun_empty
from bot.diagnosis._begun_anew import may_have_begun_anew
from bot.diagnosis._begun_below_expired import may_have_begun_below
from bot.diagnosis._behind_main import behind_main
from bot.diagnosis._case import unseen
from bot.diagnosis._clocks import untold_order
from bot.diagnosis._compactions import COMPARES, unsettled_compactions
from bot.diagnosis._drained import started_after_a_drain
from bot.diagnosis._hidden_start import hidden_start, start_between_commits, start_without_details
from bot.diagnosis._left_by_a_restore import left_by_a_restore
from bot.diagnosis._lost_and_expired import may_be_lost_and_expired
from bot.diagnosis._lost_files import ALL_FILES, missing_now
from bot.diagnosis._older_than_a_start import older_than_a_start
from bot.diagnosis._origins import unknown_origin
from bot.diagnosis._other_branch import writes_a_branch
from bot.diagnosis._other_writers import unknown_pick
from bot.diagnosis._replaced_and_expired import may_be_replaced_and_expired
from bot.diagnosis._started_over_others import started_over_others
from bot.diagnosis._to_come_again import may_come_again
from bot.diagnosis._unbroken import break_in_chain
from bot.diagnosis._untold_rewinds import open_rewinds, whose_run
from bot.diagnosis._upsert import may_be_replaced
from bot.diagnosis._wrong_rows import repeats_unexplained, wrong_files, wrong_rows
from bot.diagnosis.schema_changed_under_the_job import writes_unknown
from bot.domain.diagnosis import CannotTell, Case
from bot.domain.ids import SnapshotId

RESTS_ON = ("duplicate_rows", "missing_positions", "duplicate_commits", "leaked_manifests", "unreadable_files")
"""Evidence that must have answered as a whole, and still hold."""
ASKS_FOR = ("replayed_rows", "orphan_files", ALL_FILES, COMPARES)
"""Evidence that settles what these leave open, where they do."""


def speaks_against(case: Case) -> str | None:
    """The first thing that is known to be wrong with rows, files or history; None also where nobody looked."""
    return wrong_rows(case) or wrong_files(case) or break_in_chain(case)


def not_looked_at(case: Case, *tasks: str) -> tuple[str, ...]:
    """Of these tasks and of what the table rests on, what gave no whole answer that still holds; empty: everything
    was looked at."""
    written = writes_unknown(case)
    named = (
        "contract.position: without a column of source positions nobody can show that no row is missing; name one"
        if case.contract.position is None
        else None
    )
    told = (
        named,
        may_be_replaced(case),
        unseen(written) if written is not None else None,
        unknown_pick(case),
        untold_order(case),
        *map(whose_run, open_rewinds(case)),
        writes_a_branch(case),
    )
    return (*lacking(case, *tasks, whole=True), *(what for what in told if what is not None))


def looks_again(case: Case, missing: tuple[str, ...]) -> tuple[str, ...]:
    """What is collected at once where this is missing: the Flink manifests, where they are all of it. They come and go
    without a commit, and a look at them reads no rows."""
    told = lacking(case, "leaked_manifests", whole=True)
    return unasked(case, "leaked_manifests") if missing and missing == told else ()


def begins_above(case: Case) -> SnapshotId | None:
    """The commit from which on a table is called right: where the window begins, or at the oldest listed commit where
    what lies below it has expired. None: all of the table is."""
    since, chain = case.window.since, case.observation.table.chain
    return chain[-1].snapshot_id if since is None and chain and chain[-1].has_commit_below else since


def doubt(case: Case, until: SnapshotId | None) -> CannotTell | None:
    """What all that was looked at leaves open, with the evidence that would settle it; None: nothing. `until`: the
    newest commit that it covers."""
    rows = (repeats_unexplained(case), missing_now(case), unsettled_compactions(case), unaccounted(case, until))
    starts = (
        may_have_begun_empty(case),
        may_have_begun_below(case),
        hidden_start(case),
        start_without_details(case),
        start_between_commits(case),
        behind_main(case),
        older_than_a_start(case, until, *RESTS_ON),
        started_after_a_drain(case),
        started_over_others(case),
    )
    open_still = [each for each in (*rows, *starts) if isinstance(each, CannotTell)]
    missing = [what for each in open_still for what in each.missing]
    anew = (may_have_begun_anew(case), may_be_replaced_and_expired(case))
    told = (
        unknown_origin(case),
        left_by_a_restore(case),
        *anew,
        may_be_lost_and_expired(case, until),
        may_come_again(case, until),
    )
    missing += [what for what in told if what is not None]
    asks = [task for each in open_still for task in each.asks]
    return CannotTell(missing=tuple(missing), asks=tuple(asks)) if missing else None
