"""Whether a look found nothing that another one had not found: gap by gap, key by key, file by file. Pure.

An answer names the first or the largest of what it counts. What it does not name is held by its number alone; so is
all that is missing where the contract hides the positions.
"""

from bot.domain.evidence import Evidence
from bot.domain.findings import DuplicateFilesFinding, DuplicatesFinding, GapsFinding, PositionGap

COMPARED = frozenset({"duplicate_rows", "missing_positions", "duplicate_files"})
"""Evidence tasks whose answers can be held against each other."""


def no_more_found(now: Evidence, known: Evidence) -> bool:
    """Whether all that `now` has found stands in `known`, too, of the same task; False also where either does not
    tell, or where `now` could not look at something at which `known` could."""
    unseen, unseen_then = ({each.source for each in told.could_not_look} for told in (now, known))
    if not unseen <= unseen_then:
        return False
    match now.finding, known.finding:
        case GapsFinding() as found, GapsFinding() as before:
            is_known = is_held_by_number(now, known) or all(_is_known_gap(gap, before) for gap in found.gaps)
            return is_known and found.missing <= before.missing
        case DuplicatesFinding() as found, DuplicatesFinding() as before:
            is_known = _names_no_other_key(now, known, before.keys) and _has_no_more_pairs(found, before)
            return is_known and found.keys <= before.keys and found.extra_rows <= before.extra_rows
        case DuplicateFilesFinding() as found, DuplicateFilesFinding() as before:
            is_known = _names_no_other_file(found, before) and {*found.again} <= {*before.again}
            return is_known and found.count <= before.count and found.extra_rows <= before.extra_rows
    return False


def is_held_by_number(now: Evidence, known: Evidence) -> bool:
    """Whether that compares no more than how many are missing, as the contract hides which."""
    return any(isinstance(each.finding, GapsFinding) and each.finding.is_hidden for each in (now, known))


def _is_known_gap(gap: PositionGap, before: GapsFinding) -> bool:
    """Whether each of its positions was missing in one of those that were named, or lies behind the last of them where
    not all were named. Two that touch may be told as one, and one as two."""
    names_all = sum(each.size for each in before.gaps) >= before.missing
    reached = gap.first
    for each in sorted(before.gaps, key=_place):
        if each.partition == gap.partition and each.first <= reached:
            reached = max(reached, each.last + 1)
    if reached > gap.last:
        return True
    return not names_all and bool(before.gaps) and (gap.partition or "", reached) > _place(before.gaps[-1])


def _place(gap: PositionGap) -> tuple[str, int]:
    return gap.partition or "", gap.first


def _names_no_other_key(now: Evidence, known: Evidence, keys: int) -> bool:
    """True where `known` does not name all of them: then their commits and their number tell. A row of the sample is
    the key's columns, its live rows, and their commits."""
    if len(known.rows) < keys:
        return True
    return {row[:-2] for row in now.rows} <= {row[:-2] for row in known.rows}


def _has_no_more_pairs(found: DuplicatesFinding, before: DuplicatesFinding) -> bool:
    """Whether each two commits have as many keys twice as they had, or fewer."""
    told = {(pair.first, pair.second): pair.keys for pair in before.pairs}
    is_hidden_alike = found.hidden <= before.hidden
    return is_hidden_alike and all(pair.keys <= told.get((pair.first, pair.second), 0) for pair in found.pairs)


def _names_no_other_file(found: DuplicateFilesFinding, before: DuplicateFilesFinding) -> bool:
    """True where `before` does not name all of them."""
    if len(before.files) < before.count:
        return True
    return {file.path for file in found.files} <= {file.path for file in before.files}
