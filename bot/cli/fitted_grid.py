"""A table of the terminal that cuts no cell short: a column that does not fit is left out, and named below it."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.table import Table as Grid
from rich.text import Text

_BESIDE = 3
"""What a column takes beside its text: a blank on either side, and a line."""
_FOLD_FROM = 3
_ALWAYS = 2


class _Column(NamedTuple):
    name: str
    cells: tuple[str, ...]

    @property
    def whole(self) -> int:
        return max(map(len, (self.name, *self.cells)))

    @property
    def least(self) -> int:
        """The longest word: narrower would cut it in two."""
        return max(len(word) for text in (self.name, *self.cells) for word in (text.split() or [""]))


def fitted_grid(
    columns: Sequence[str], lines: Sequence[Sequence[str]], width: int | None, first: Sequence[str] = ()
) -> Grid:
    """The lines in `width` characters, all of them where it is None, as in a file. `first`: the columns by how much
    they matter; without it as they stand. The caption names what is the same in every row, and what is left out."""
    all_of = [_Column(name, tuple(line[n] for line in lines)) for n, name in enumerate(columns)]
    order = [name for name in first or columns if name in columns]
    kept = {each.name: each for each in all_of}
    same: list[str] = []
    left_out: list[str] = []
    if width is not None and _taken(each.whole for each in all_of) > width:
        for name in order[_ALWAYS:]:
            if len(lines) >= _FOLD_FROM and len(set(kept[name].cells)) == 1:
                same.append(f"{name} {kept.pop(name).cells[0] or '–'}")
        for name in reversed(order[_ALWAYS:]):
            if name in kept and _taken(each.least for each in kept.values()) > width:
                left_out.append(name)
                del kept[name]
    caption = ". ".join(
        [
            *([f"The same in every row: {' · '.join(same)}"] if same else []),
            *([f"Too wide for here: {', '.join(reversed(left_out))}; --json has them"] if left_out else []),
        ]
    )
    grid = Grid(caption=Text(f"{caption}.") if caption else None, caption_justify="left")
    widths = _widths([kept[name] for name in order if name in kept], width)
    shown = [each for each in all_of if each.name in kept]
    for each in shown:
        grid.add_column(Text(each.name), width=widths[each.name], overflow="fold")
    for n in range(len(lines)):
        grid.add_row(*(Text(each.cells[n]) for each in shown))
    return grid


def _taken(widths: Iterable[int]) -> int:
    told = list(widths)
    return sum(told) + _BESIDE * len(told) + 1


def _widths(by_weight: list[_Column], width: int | None) -> dict[str, int]:
    """Each column's longest word, and what is to spare to those that matter most."""
    if width is None:
        return {each.name: each.whole for each in by_weight}
    spare = max(0, width - _taken([each.least for each in by_weight]))
    found = {}
    for each in by_weight:
        more = min(spare, each.whole - each.least)
        spare -= more
        found[each.name] = each.least + more
    return found
