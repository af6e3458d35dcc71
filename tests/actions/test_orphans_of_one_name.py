"""Orphan files that bear one name: each has a place of its own in the folder, and comes back to where it was."""

from collections.abc import Sequence

import pytest

from bot.actions import remove_orphan_files, undo_proposal
from bot.actions._undoing import brought_back
from bot.domain.effects import MoveFiles
from bot.domain.errors import Refused
from tests.actions.orphan_plans import NAME, YEARS_AGO, move_of, planned
from tests.actions.scene import Scene
from tests.tables import ORDERS


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
