"""An incident that has ended speaks of its end, and says when another one has put its table in question since."""

import httpx
import pytest

from tests.web.scene import Scene


@pytest.fixture
def again(scene: Scene) -> Scene:
    """wl-1 ended with a proof; the table went on."""
    scene.opens().diagnoses().verifies().closes()
    scene.orders.commits("d", 5, range(50, 60))
    return scene


def test_the_api_tells_the_end_of_an_old_incident_beside_what_holds_now(again: Scene, web: httpx.Client) -> None:
    """Nobody who asks for the old incident takes its proof for the table's present state."""
    before = web.get("/v1/incidents/wl-1").json()
    again.opens()

    after, newest = web.get("/v1/incidents/wl-1").json(), web.get("/v1/incidents/wl-2").json()

    assert ("trusted", None) == (before["table_now"], before["superseded_by"])
    assert ("under-review", "wl-2", True) == (after["table_now"], after["superseded_by"], after["is_proven"])
    assert ("under-review", None, False) == (newest["table_now"], newest["superseded_by"], newest["is_proven"])


def test_the_page_names_the_later_incident_and_the_file_to_keep_does_not(again: Scene, web: httpx.Client) -> None:
    """A file is the record of one incident: what came later is not in its entries."""
    again.opens()

    page, kept = web.get("/incidents/wl-1").text, web.get("/incidents/wl-1/record.html").text

    assert "Table, as it was left</dt>" in page
    assert '<a href="/incidents/wl-2">incident wl-2</a> put the table in question' in page
    assert "Table, as it was left</dt>" in kept
    assert "wl-2" not in kept


def test_a_private_later_incident_is_not_named(again: Scene, web: httpx.Client) -> None:
    """That the table is in question is told to everybody, by whom is not."""
    again.opens(private=True)

    told, page = web.get("/v1/incidents/wl-1").json(), web.get("/incidents/wl-1").text

    assert ("under-review", None) == (told["table_now"], told["superseded_by"])
    assert "a private incident put the table in question" in page
    assert "wl-2" not in page
