"""Whose rows a deduplication deletes: where the job makes each of them once again, a rewind below all copies does not
miss it.
"""

from itertools import combinations

from bot.domain.diagnosis import Case
from bot.domain.findings import DuplicatesFinding, ExtraCopiesFinding
from bot.domain.guests import Guests
from bot.domain.snapshot import DELETED_FROM
from bot.domain.table import Snapshot

_Pair = tuple[Snapshot, Snapshot]


def said_of_copies(case: Case, extra: ExtraCopiesFinding) -> dict[str, str]:
    """What the summary says: by which commits the rows had come. Nothing where that is not known of every row, and
    unless all copies, those that stay too, are the job's, each by a reading of its own. Beside what another writer has
    left on main the job would bring its copy again, and twice what its source gives twice."""
    deleted = {each.snapshot_id for each in extra.commits}
    pairs = _pairs(case, case.duplicates) if case.duplicates is not None else []
    named = {each.snapshot_id: each for pair in pairs for each in pair}
    is_known = sum(each.rows for each in extra.commits) == extra.rows and deleted <= named.keys()
    if not is_known or not _are_of_the_job(case, *named.values()) or not all(_are_apart(*pair) for pair in pairs):
        return {}
    return {DELETED_FROM: ",".join(map(str, sorted(deleted)))}


def _pairs(case: Case, found: DuplicatesFinding) -> list[_Pair]:
    """The older and the newer commit of copies, and any two newer ones that may be of one key, as it lives three times;
    none unless all are known and listed."""
    table = case.observation.table
    if not found.names_all_commits or found.within_commit:
        return []
    if any(each not in table.by_id for pair in found.pairs for each in (pair.first, pair.second)):
        return []
    pairs = [(table.by_id[each.first], table.by_id[each.second]) for each in found.pairs]
    if sum(each.keys for each in found.pairs) == found.keys:
        return pairs
    in_order = sorted(found.pairs, key=lambda each: table.place_of(each.second))
    newer = [(one, other) for one, other in combinations(in_order, 2) if one.first == other.first]
    return pairs + [(table.by_id[one.second], table.by_id[other.second]) for one, other in newer]


def _are_of_the_job(case: Case, *commits: Snapshot) -> bool:
    guests = Guests(case)
    return not guests.is_untold and not any(
        each.job_id is None or each.is_repair or guests.has(each) or guests.has_run(each.job_id) for each in commits
    )


def _are_apart(first: Snapshot, second: Snapshot) -> bool:
    """Whether the job had read these rows, or committed them, once more for the second."""
    if first.job_id != second.job_id:
        return True
    is_like = first.operator_id == second.operator_id and first.snapshot_id != second.snapshot_id
    return is_like and (second.checkpoint_id or 0) <= (first.checkpoint_id or 0)
