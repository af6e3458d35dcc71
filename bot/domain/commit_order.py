"""In which order the commits of a table were made. Pure."""

from collections.abc import Sequence

Age = tuple[int, int, int]


def ages(
    ids: Sequence[int], parents: Sequence[int | None], numbers: Sequence[int], moments: Sequence[int]
) -> list[Age]:
    """What each commit sorts by, the oldest first, none before its parent.

    By sequence number; in format v1, where it is 0 of every commit, by its moment (any unit), but never by one before
    the parent's, for the clocks of two writers differ; then by the number of its ancestors.
    """
    place = {each: at for at, each in enumerate(ids)}
    told: dict[int, Age] = {}
    for start in range(len(ids)):
        line: list[int] = []
        at: int | None = start
        while at is not None and at not in told:
            line.append(at)
            told[at] = (numbers[at], moments[at], 0)
            at = place.get(parents[at] or 0)
        for each in reversed(line):
            _, moment, depth = told[at] if at is not None else (0, moments[each], 0)
            told[each] = (numbers[each], max(moment, moments[each]), depth + 1)
            at = each
    return [told[at] for at in range(len(ids))]
