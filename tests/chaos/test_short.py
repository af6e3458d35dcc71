"""The short form of `make chaos`: one world on each database, a few kills, every rule."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.chaos.cluster import Damage
from tests.chaos.experiment import Experiment, Figures
from tests.chaos.world import Bots
from tests.postgres import Postgres

_KILLS = 6


@pytest.fixture(scope="module")
def bots(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bots]:
    """Imported once."""
    with closing(Bots(tmp_path_factory.mktemp("bots") / "bots.log")) as started:
        yield started


@pytest.mark.chaos
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("database", "together", "damage"),
    [
        ("sqlite", 1, "committed-twice"),
        ("postgresql", 1, "restored-from-older-savepoint"),
        ("postgresql", 2, "committed-twice"),
    ],
)
def test_a_bot_that_is_killed_again_and_again_neither_loses_nor_repeats(
    tmp_path: Path, bots: Bots, database: str, together: int, damage: Damage, request: pytest.FixtureRequest
) -> None:
    """Damage, people, kills, proof: afterwards every rule holds, looked at from outside."""
    if database == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        record = server.new_database()
    else:
        record = f"sqlite:///{tmp_path}/journal.db"
    figures = Figures()

    Experiment(tmp_path, record, bots, seed=7, kills=_KILLS, figures=figures, together=together, damages=[damage]).run()

    assert figures.violations == []
    assert figures.kills == _KILLS
    assert figures.stories[damage] >= 1
