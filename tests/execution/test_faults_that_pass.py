"""A catalog that fails for a moment, or lets somebody else in first, does not end what was approved."""

import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from bot.domain.execution import ProposalState
from tests.execution.away import intents, notes
from tests.execution.scene import Scene
from tests.little_flink import open_catalog
from tests.tables import ORDERS


def _somebody_sets_a_property(scene: Scene) -> None:
    catalog = open_catalog(scene.damaged.folder)
    with catalog.load_table(ORDERS).transaction() as change:
        change.set_properties({"owner.note": "hello"})
    catalog.close()


def _storage_is_away(_scene: Scene) -> None:
    raise OSError("HTTP 503 from the object store")


def _database_is_locked(_scene: Scene) -> None:
    error = sqlite3.OperationalError("database is locked")
    error.sqlite_errorcode = 5
    raise OperationalError("UPDATE", {}, error)


def _in_between(scene: Scene, call: str, happens: Callable[[Scene], None]) -> None:
    """`happens` once the commit that moves main has loaded the table (`load_table`), or sends (`commit_table`)."""
    commit, inner = scene.damaged.catalog.commit, scene.damaged.catalog._catalog("commit")
    asked = getattr(inner, call)

    def failing(*args: Any, **named: Any) -> Any:
        answer = asked(*args, **named) if call == "load_table" else None
        happens(scene)
        return answer

    def once(table: Any, change: Any) -> Any:
        if change.move_main_to is None:
            return commit(table, change)
        setattr(inner, call, failing)
        scene.damaged.catalog.commit = commit  # type: ignore[method-assign]
        try:
            return commit(table, change)
        finally:
            setattr(inner, call, asked)

    scene.damaged.catalog.commit = once  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("call", "happens", "told"),
    [
        ("load_table", _storage_is_away, "could not be read before the commit"),
        ("load_table", _somebody_sets_a_property, "another commit came first"),
        ("commit_table", _database_is_locked, "database was busy"),
    ],
)
def test_what_passes_is_waited_for_and_the_job_is_started(
    scene: Scene, call: str, happens: Callable[[Scene], None], told: str
) -> None:
    """The run was stopped already: to give up here would leave the table without a writer."""
    scene.begins()
    _in_between(scene, call, happens)

    scene.carries_on()
    meanwhile, noted = scene.view.state, notes(scene)
    scene.carries_on()

    assert meanwhile is ProposalState.EXECUTING
    assert len(noted) == 1
    assert told in noted[0]
    assert scene.view.state is ProposalState.APPLIED
    assert scene.calls == ["stop", "start"]
    assert intents(scene) == [0, 1, 1, 2]


def test_a_commit_on_main_that_comes_first_is_never_taken_off(scene: Scene) -> None:
    """The head is what was compared with: it has changed, so the approval holds no longer."""
    scene.begins()
    _in_between(scene, "load_table", Scene.backfill_commits)

    scene.carries_on()

    assert scene.view.state is ProposalState.REFUSED
    assert scene.damaged.catalog.load(ORDERS).chain[0].summary["engine-name"] == "spark"
