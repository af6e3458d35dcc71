"""The API as a program asks it, over real HTTP on loopback."""

import json
from datetime import timedelta

import httpx
import pytest

from bot.observation.errors import CouldNotLook
from tests.tables import ORDERS
from tests.web.scene import Scene

pytestmark = pytest.mark.smoke

TRUST = f"/v1/tables/{ORDERS}/trust"
READS = ["/v1/tables", TRUST, "/v1/incidents/wl-1", "/v1/openapi.json"]


def test_the_trust_of_a_table_is_answered_with_ids_as_text(scene: Scene, web: httpx.Client) -> None:
    """A snapshot id has 64 bits; as a JSON number it would be another snapshot in JavaScript."""
    scene.opens().diagnoses()

    found = web.get(TRUST).json()

    assert (found["state"], found["basis"], found["incident"]) == ("under-review", "before-the-fault", "wl-1")
    assert (found["snapshot"], found["head"]) == (str(scene.good), str(scene.commits[-1]))
    assert [pin["engine"] for pin in found["pins"]] == ["Spark", "Trino", "Flink", "PyIceberg", "DuckDB"]


@pytest.mark.parametrize("path", READS)
def test_an_answer_that_is_known_already_is_not_sent_again(scene: Scene, web: httpx.Client, path: str) -> None:
    """Who asks with the ETag is told 304, also later: the time of looking is no news."""
    scene.opens()
    tag = web.get(path).headers["ETag"]
    scene.clock.at += timedelta(minutes=5)

    again = web.get(path, headers={"If-None-Match": f'"other", {tag}'})
    strong = web.get(path, headers={"If-None-Match": tag.removeprefix("W/")})

    assert (304, b"", tag) == (again.status_code, again.content, again.headers["ETag"])
    assert strong.status_code == 304


def test_the_tag_changes_with_the_answer(scene: Scene, web: httpx.Client) -> None:
    """A pipeline that keeps the tag hears of the incident."""
    tag = web.get(TRUST).headers["ETag"]
    scene.opens()

    found = web.get(TRUST, headers={"If-None-Match": tag})

    assert (200, "under-review") == (found.status_code, found.json()["state"])


def test_all_tables_are_listed_also_those_that_cannot_be_read(scene: Scene, web: httpx.Client) -> None:
    """One table that is missing does not hide the others."""
    found = web.get("/v1/tables").json()["tables"]

    assert {"sales.orders": "trusted", "sales.refunds": "unknown"} == {each["table"]: each["state"] for each in found}


def test_an_incident_is_told_without_its_people(scene: Scene, web: httpx.Client) -> None:
    """What happened, what is proposed, whether it is proven, and the end of its chain."""
    scene.opens().diagnoses().proposes()

    found = web.get("/v1/incidents/wl-1").json()

    assert (found["state"], found["is_proven"], found["trusted"]) == ("open", False, str(scene.good))
    assert [each["code"] for each in found["causes"]] == ["F2"]
    assert found["proposal"]["state"] == "proposed"
    assert found["head_hash"] == scene.incidents.get(scene.id).entries[-1].hash
    assert "U0ANA" not in json.dumps(found)


@pytest.mark.parametrize("path", ["/v1/incidents/wl-1", "/incidents/wl-1", "/incidents/wl-1/record.json"])
def test_a_private_incident_is_answered_as_one_that_does_not_exist(scene: Scene, web: httpx.Client, path: str) -> None:
    """The very same body: nobody learns that there is one."""
    before = web.get(path)
    scene.opens(private=True)

    found = web.get(path)

    assert (404, before.content) == (found.status_code, found.content)


@pytest.mark.parametrize(
    ("method", "path", "status", "says"),
    [
        ("GET", "/v1/tables/sales.ordres/trust", 404, "Waterline is not set up for a table sales.ordres."),
        ("GET", "/v1/incidents/wl-99", 404, "There is no such incident."),
        ("GET", "/v1/nothing", 404, "There is no page at this address."),
        ("POST", TRUST, 405, "POST is not allowed here."),
        ("DELETE", "/v1/incidents/wl-1", 405, "DELETE is not allowed here."),
        ("PUT", "/v1/tables", 405, "PUT is not allowed here."),
    ],
)
def test_a_refusal_has_three_parts(web: httpx.Client, method: str, path: str, status: int, says: str) -> None:
    """Also programs are told what happened, what was expected and what to do."""
    found = web.request(method, path)

    problem = found.json()
    assert (status, "application/problem+json") == (found.status_code, found.headers["content-type"])
    assert says == problem["title"]
    assert problem["detail"]
    assert problem["remedy"]


@pytest.mark.parametrize(
    ("path", "media_type"),
    [
        ("/", "text/html"),
        ("/incidents/wl-1/record.md", "text/html"),
        ("/v1/incidents/wl-1", "application/problem+json"),
    ],
)
def test_a_record_that_cannot_be_read_is_not_one_that_is_empty(
    scene: Scene, web: httpx.Client, monkeypatch: pytest.MonkeyPatch, path: str, media_type: str
) -> None:
    """Whoever asks hears that nobody could look, in the form of the address."""
    scene.opens()

    def fails(*_: object) -> None:
        raise CouldNotLook("The record cannot be read.", "The disk is gone.", "Mount it.")

    for name in ("all", "get"):
        monkeypatch.setattr(scene.incidents, name, fails)
    found = web.get(path)

    assert (503, media_type) == (found.status_code, found.headers["content-type"].partition(";")[0])
    assert "The record cannot be read." in found.text


def test_every_answer_forbids_scripts_and_frames(scene: Scene, web: httpx.Client) -> None:
    """Pages that show what others wrote run none of it."""
    scene.opens()

    policies = {path: web.get(path).headers["content-security-policy"] for path in [*READS, "/", "/incidents/wl-1"]}

    assert all("default-src 'none'" in each and "script-src" not in each for each in policies.values())
    assert all("frame-ancestors 'none'" in each for each in policies.values())
