"""A table in which the watch has found something urgent is not called trusted by anybody who asks."""

from datetime import timedelta
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from bot.cli import app
from bot.domain.ids import SnapshotId
from bot.domain.trust import Basis, Trust, TrustState
from bot.domain.watch import Ended, Sighted, Sign
from bot.service.sightings import WatchFindings
from bot.service.trust import TrustDesk
from tests.tables import ORDERS
from tests.watch.signs import muted, sighted, sign
from tests.web.scene import Scene


def _trust(scene: Scene) -> Trust:
    desk = scene.desk()
    findings = WatchFindings(scene.store.watched, [ORDERS])
    heeding = TrustDesk(scene.incidents, desk._observer, scene.clock, findings=findings, keep=timedelta(0))
    return heeding.trust(ORDERS)


def _finds(scene: Scene, of: Sign | None = None, *, last_good: SnapshotId | None = None) -> Sighted:
    found = sighted((of or sign()).model_copy(update={"last_good": last_good}), at=scene.clock.now())
    assert scene.store.watched.add(found)
    return found


def test_what_the_watch_found_is_a_doubt_that_names_what_to_read_instead(scene: Scene) -> None:
    """Nobody is told that nobody has a doubt while the bot itself has one."""
    _finds(scene, last_good=scene.good)

    found = _trust(scene)

    assert found.state is TrustState.UNKNOWN
    assert (scene.good, Basis.BEFORE_THE_FAULT, 2) == (found.snapshot, found.basis, found.above)
    assert found.doubts == (
        "The monitor found F2 at 09:00 UTC, and no incident covers it: Run bbbbbb was restored from checkpoint "
        "3, although run aaaaaa had committed checkpoint 5.",
    )
    assert found.why == found.doubts[0]
    assert found.since == scene.clock.now()
    assert "not the head" in found.advice
    assert len(found.pins) == 5


def test_where_it_begins_is_not_guessed(scene: Scene) -> None:
    """A finding that does not tell the last good snapshot leaves none that could be named."""
    _finds(scene, last_good=scene.good)
    _finds(scene, sign("F13"))

    found = _trust(scene)

    assert (TrustState.UNKNOWN, None, Basis.NONE, ()) == (found.state, found.snapshot, found.basis, found.pins)
    assert len(found.doubts) == 2
    assert "Do not rely on it" in found.advice


def test_a_mute_is_no_denial(scene: Scene) -> None:
    """Whoever wants to hear no more of it has not said that it is not so."""
    _finds(scene)
    scene.store.watched.add(muted(scene.clock.now() + timedelta(hours=4), at=scene.clock.now()))

    assert _trust(scene).state is TrustState.UNKNOWN


@pytest.mark.parametrize("how", ["over", "not urgent", "of an alert", "a silence", "of the job alone", "not followed"])
def test_what_is_over_or_only_told_by_others_leaves_trust_alone(scene: Scene, how: str) -> None:
    """Trust ends by what the watch sees itself, urgent, while it lasts, where it says that rows are wrong or lost."""
    code = {"of an alert": "alert", "a silence": "no-commit"}.get(how, "F2")
    of = sign(code, urgent=how != "not urgent").model_copy(update={"rows_are_right": how == "of the job alone"})
    found = _finds(scene, of)
    if how == "over":
        scene.store.watched.add(
            Ended(sighting=found.id, table=ORDERS, at=scene.clock.now(), why="Waterline does not see it any more.")
        )

    now = scene.trust if how == "not followed" else _trust(scene)

    assert (TrustState.TRUSTED, ()) == (now.state, now.doubts)


def test_an_incident_takes_the_doubt_over_and_a_proof_ends_it(scene: Scene) -> None:
    """People look at it then; what they prove is not put in question by what they looked into."""
    _finds(scene, last_good=scene.good)

    scene.opens()
    looked_into = _trust(scene)
    scene.verifies().closes()
    proven = _trust(scene)

    assert (TrustState.UNDER_REVIEW, ()) == (looked_into.state, looked_into.doubts)
    assert (TrustState.TRUSTED, ()) == (proven.state, proven.doubts)


def test_a_finding_after_the_proof_is_a_new_doubt_and_what_was_proven_is_named(scene: Scene) -> None:
    """The proven snapshot stands; the head above it does not."""
    scene.opens().verifies().closes()
    proven = scene.orders.head
    scene.clock.at += timedelta(hours=1)
    scene.orders.commits("c", 5, range(50, 60))
    _finds(scene)

    found = _trust(scene)

    assert (TrustState.UNKNOWN, proven, Basis.VERIFIED, 1) == (found.state, found.snapshot, found.basis, found.above)
    assert found.why.startswith("The monitor found F2 at ")


def test_a_finding_does_not_name_what_record_and_table_disagree_about(scene: Scene) -> None:
    """A mark that nobody here can explain leaves nothing to rely on, whatever the watch believes good."""
    _finds(scene, last_good=scene.good)
    scene.marks({"waterline.status": "trusted", "waterline.incident": "wl-7"}, tag=scene.good)

    found = _trust(scene)

    assert (TrustState.UNKNOWN, None, Basis.NONE) == (found.state, found.snapshot, found.basis)
    assert found.why.startswith("Unknown. The record has no incident on this table")


def test_the_gate_does_not_open_though_it_runs_beside_the_bot(scene: Scene) -> None:
    """`waterline trust` reads what the bot's watch has kept."""
    _finds(scene)
    table = {
        "channel": "C0INCIDENT1",
        "contract": {"key": ["order_id"]},
        "policies": {"default": {"users": ["U0BEN00002"]}},
    }
    content = {
        "home": str(scene.folder / "home"),
        "journal": {"url": scene.journal_url},
        "catalog": {"name": "lake", "properties": scene.catalog_properties},
        "tables": {str(ORDERS): table},
    }

    watched = CliRunner().invoke(app, ["trust", ORDERS, "--config", _written(scene.folder, {**content, "watch": {}})])
    not_watched = CliRunner().invoke(app, ["trust", ORDERS, "--config", _written(scene.folder, content)])

    assert (2, 0) == (watched.exit_code, not_watched.exit_code)
    assert "sales.orders: unknown. The monitor found F2" in watched.stdout


def _written(folder: Path, content: dict[str, object]) -> str:
    path = folder / "waterline.yaml"
    with path.open("w", encoding="utf-8") as file:
        YAML().dump(content, file)
    return str(path)
