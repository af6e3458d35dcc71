"""A responder bounds the replay: by source positions, by event times, or by partitions of the table."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyiceberg.transforms import HourTransform

from bot.adapters.spark import SparkEvidenceRunner
from bot.domain.errors import CouldNotLook, Refused
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.replay import ReplayRecipe
from tests.repairs.conftest import Positions
from tests.repairs.recipes import declared
from tests.repairs.scene import RUN, RepairScene
from tests.tables import rows

pytestmark = pytest.mark.slow

Declares = Callable[[ReplayRecipe | None], RepairScene]


@pytest.fixture
def declares(tmp_path: Path, runner: SparkEvidenceRunner, request: pytest.FixtureRequest) -> Declares:
    """`declares(recipe)`: run A wrote positions 0 to 29, one event a second, and somebody took 8 to 19 away; this
    replay is declared."""

    def declare(recipe: ReplayRecipe | None) -> RepairScene:
        made = RepairScene(tmp_path, runner, replay=recipe)
        request.addfinalizer(made.close)
        made.flink.checkpoints(RUN, 3)
        made.orders.deletes("source_position >= 8 and source_position < 20")
        made.opens("ledger")
        return made

    return declare


def told(view: ProposalView) -> str:
    """What the approver reads."""
    return " ".join(view.proposal.preview.sentences)


def test_a_replay_of_typed_positions_is_rehearsed_proven_published_and_undone(
    declares: Declares, positions: Positions
) -> None:
    """Only what is missing within the bounds is written; the rest of the hole stays, and the preview says so."""
    scene = declares(declared())

    rehearsal = scene.carries_out(scene.proposes("replay_rows", "positions=5..14"))
    proof = scene.proves(rehearsal)

    assert proof.passed, proof.checks
    assert positions(scene, "main") == [*range(8), *range(20, 30)]
    assert positions(scene, rehearsal.proposal.rehearses_on or "") == [*range(15), *range(20, 30)]
    assert "Replay positions 5 to 14 from the source (topic orders, kept for 7 days)" in told(rehearsal)
    assert "has 10 rows: 3 already there and equal, 0 already there and different, 7 to write." in told(rehearsal)
    assert "Rows missing outside the bounds stay missing" in told(rehearsal)
    published = scene.carries_out(scene.proposes("publish_repair"))
    proof = scene.proves(published)
    assert (proof.passed, proof.moves_waterline) == (True, "no")
    assert positions(scene, "main") == [*range(15), *range(20, 50)]
    scene.carries_out(scene.undoes())
    assert positions(scene, "main")[:18] == [*range(8), *range(20, 30)]


def test_what_is_there_and_differs_is_named_and_not_overwritten(declares: Declares, positions: Positions) -> None:
    """Also where its key lives outside the bounds: a row is never there twice."""
    scene = declares(declared(order_id="IF(id = 12, 25, id)"))
    scene.orders.overwrites(rows([6], orders=[6]).set_column(4, "customer", [["somebody else"]]), "order_id = 6")

    rehearsal = scene.carries_out(scene.proposes("replay_rows", "positions=5..14"))

    assert rehearsal.state is ProposalState.APPLIED, rehearsal.result
    assert "has 10 rows: 2 already there and equal, 2 already there and different, 6 to write." in told(rehearsal)
    assert "Not overwritten, although the table has other values than the source: order_id 6; order_id 25." in told(
        rehearsal
    )
    assert positions(scene, rehearsal.proposal.rehearses_on or "") == [*range(12), 13, 14, *range(20, 30)]


def test_a_replay_of_a_range_of_event_times_is_half_open(declares: Declares, positions: Positions) -> None:
    """From its first second to before its last; the source still gives a row fewer than the table has."""
    scene = declares(declared("range(6, 1000)"))

    rehearsal = scene.carries_out(scene.proposes("replay_rows", "from=2026-11-03T00:00:05Z until=2026-11-03T00:00:12Z"))

    assert rehearsal.state is ProposalState.APPLIED, rehearsal.result
    assert "events from 2026-11-03 00:00:05 until before 2026-11-03 00:00:12 UTC" in told(rehearsal)
    assert "has 6 rows: 2 already there and equal, 0 already there and different, 4 to write." in told(rehearsal)
    assert "Within the bounds the table has 1 row that the source does not return; it stays." in told(rehearsal)
    assert positions(scene, rehearsal.proposal.rehearses_on or "") == [*range(12), *range(20, 30)]


def test_a_replay_of_a_partition_of_the_table(declares: Declares, positions: Positions) -> None:
    """By the column that the partition is made of, however the files that are there were partitioned."""
    scene = declares(declared("range(0, 30)"))
    scene.orders.partitions_by(("event_time", HourTransform()), name="event_hour")

    rehearsal = scene.carries_out(scene.proposes("replay_rows", "partition=event_hour=2026-11-03-00"))

    assert rehearsal.state is ProposalState.APPLIED, rehearsal.result
    assert "Replay partition event_hour=2026-11-03-00" in told(rehearsal)
    assert positions(scene, rehearsal.proposal.rehearses_on or "") == list(range(30))


@pytest.mark.parametrize(
    ("recipe", "typed", "says"),
    [
        (declared(most_rows=9), "positions=5..14", "too many rows for a replay by Waterline: 10 positions"),
        (
            declared(most_rows=9),
            "from=2026-11-03T00:00Z until=2026-11-03T00:01Z",
            "the source has more than 9 within these bounds",
        ),
        (declared("range(9, 100)"), "positions=5..14", "it returns 6 positions of 10, the lowest 9, the highest 14."),
        (declared(), "from=2025-11-03T00:00Z until=2025-11-03T00:01Z", "it returns no row."),
        pytest.param(
            declared("(SELECT id FROM range(0, 30) UNION ALL SELECT 12 AS id)"),
            "positions=5..14",
            "keys occur twice",
            marks=pytest.mark.long,
        ),
        (declared(), "positions=25..34", "The job may still write 5 rows of these by itself"),
        (
            declared(),
            "positions=20..24",
            "There is nothing to write: the table has every row that the source has in positions 20",
        ),
        (None, "positions=5..14", "no replay is declared for it"),
    ],
)
def test_what_cannot_be_replayed_within_bounds_is_refused(
    declares: Declares, recipe: ReplayRecipe | None, typed: str, says: str
) -> None:
    """Each refusal says what was expected and what the source has."""
    scene = declares(recipe)

    with pytest.raises(Refused) as refused:
        scene.proposes("replay_rows", typed)

    assert says in str(refused.value)


def test_a_function_that_does_not_know_this_kind_of_bounds_is_told_of(declares: Declares) -> None:
    """It was written for positions; nothing was read, so nothing is known."""
    scene = declares(ReplayRecipe(source="topic orders", function="tests.repairs.recipes:again"))

    with pytest.raises(CouldNotLook, match=r"a function that takes these bounds of tests\.repairs\.recipes:again"):
        scene.proposes("replay_rows", "from=2026-11-03T00:00Z until=2026-11-03T00:01Z")


def test_bounds_are_for_the_replay_alone(declares: Declares) -> None:
    """An action that has none does not pass them over in silence."""
    scene = declares(declared())

    with pytest.raises(Refused, match="“Replay a source range” takes no bounds"):
        scene.proposes("replay_source_range", "positions=5..14")
