"""`waterline restore-check` as a pipeline calls it, the same over HTTP, and what the service behind both looks at."""

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog
from click.testing import Result
from ruamel.yaml import YAML
from typer.testing import CliRunner

from bot.adapters.clock import SystemClock
from bot.bootstrap import restore_service
from bot.cli import app
from bot.history.prediction import RestoreCheck, RestoreVerdict
from bot.observation.errors import CouldNotLook
from bot.observation.ids import TableName
from bot.service.record import Records
from bot.service.restoring import RestoreService
from bot.service.trust import TrustService
from bot.settings import Settings, WebSettings
from bot.web.access import Access
from bot.web.app import serving, web_app
from tests.actions.scene import Scene
from tests.actions.test_siblings import ITEMS, items_commit, makes_items
from tests.little_flink import JOB
from tests.tables import ORDERS, job
from tests.web.conftest import CONTENT

TOKEN = "wl-read-5f1c"
Check = Callable[..., Result]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """Run a has committed checkpoints 1 to 3, left a savepoint there, and was stopped with a savepoint at 5."""
    made = Scene.made_in(tmp_path)
    made.flink.savepoint(job("a"))
    made.flink.checkpoints(job("a"), 2)
    made.flink.stop(JOB, job("a"))
    yield made
    structlog.reset_defaults()
    made.catalog.close()
    made.record.close()


@pytest.fixture
def older(scene: Scene) -> Path:
    """The savepoint at 3."""
    return sorted(scene.flink.savepoints.iterdir())[0]


@pytest.fixture
def newest(scene: Scene) -> Path:
    """What the stop left."""
    return sorted(scene.flink.savepoints.iterdir())[-1]


@pytest.fixture
def config(scene: Scene) -> Path:
    """No Flink answers at its address, as while an init container runs."""
    table = {"contract": {"key": ["order_id"]}, "policies": {"default": {"users": ["U0BEN00002"]}}}
    content = {
        "home": str(scene.folder / "home"),
        "journal": {"url": f"sqlite:///{scene.folder}/nowhere.db"},
        "catalog": {
            "name": "lake",
            "properties": {
                "type": "sql",
                "uri": f"sqlite:///{scene.folder}/catalog.db",
                "warehouse": f"file://{scene.folder}/lake",
            },
        },
        "jobs": {JOB: {"flink": "http://127.0.0.1:1", "savepoint_dir": str(scene.flink.savepoints)}},
        "tables": {str(ORDERS): {**table, "job": JOB}, "sales.refunds": table},
    }
    path = scene.folder / "waterline.yaml"
    with path.open("w", encoding="utf-8") as file:
        YAML().dump(content, file)
    return path


@pytest.fixture
def check(config: Path) -> Check:
    """The command, run to its end in this process."""

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))  # as `main` does

    def run(table: str, path: object, *arguments: str, **environment: str) -> Result:
        line = ["restore-check", table, "--from", str(path), *arguments, "--config", str(config)]
        return CliRunner().invoke(app, line, env=environment)

    return run


def test_the_savepoint_of_a_planned_restart_is_right(check: Check, newest: Path) -> None:
    """Exit code 0, while the cluster is down and no bot runs."""
    found = check(ORDERS, newest, "--json")

    told = json.loads(found.stdout)
    assert (found.exit_code, told["verdict"], told["checkpoint"]) == (0, "right", 5)
    assert (told["tables"][0]["repeated"], told["tables"][0]["lost"], told["instead"]) == (None, None, None)
    assert any("127.0.0.1" in each or JOB in each for each in told["not_seen"])


def test_an_older_savepoint_is_wrong_and_the_right_one_is_named(check: Check, older: Path, newest: Path) -> None:
    """Exit code 1, with the rows that would be there twice."""
    found, said = check(ORDERS, older, "--json"), check(ORDERS, older)

    told = json.loads(found.stdout)
    repeated = told["tables"][0]["repeated"]
    assert (found.exit_code, told["verdict"]) == (1, "wrong")
    assert (repeated["rows"], repeated["is_at_most"], repeated["first_checkpoint"], repeated["last_checkpoint"]) == (
        20, False, 4, 5,
    )  # fmt: skip
    assert all(isinstance(each, str) for each in repeated["snapshots"])
    assert told["instead"].endswith(str(newest))
    assert said.exit_code == 1
    assert "20 rows of 2 commits, checkpoints 4 to 5" in said.stdout
    assert str(newest) in said.stdout


@pytest.mark.parametrize("form", ["{0}", "{0}/", "{0}/_metadata", "{0}/_metadata/", "file://{0}", "file:{0}/", " {0} "])
def test_each_form_of_a_path_is_taken(check: Check, newest: Path, form: str) -> None:
    """A folder or its file, as Flink and people write them."""
    assert check(ORDERS, form.format(newest)).exit_code == 0


@pytest.mark.full
def test_what_cannot_be_told_is_neither_yes_nor_no(check: Check, scene: Scene, newest: Path, older: Path) -> None:
    """No such path, a path that nobody can open, a file that is no state, tables without a job or without a name."""
    (older / "_metadata").write_bytes(b"not Flink's")
    empty = scene.flink.savepoints / "savepoint-aaaaaa-ffffffffffff"
    empty.mkdir()

    found = {
        "gone": check(ORDERS, newest.with_name("savepoint-aaaaaa-000000000099"), "--json"),
        "empty": check(ORDERS, empty, "--json"),
        "no state": check(ORDERS, older, "--json"),
        "storage": check(ORDERS, "gopher://elsewhere/savepoint-1", "--json"),
        "no job": check("sales.refunds", newest, "--json"),
    }
    mistyped = check("sales.ordres", newest, "--json")
    down = check(ORDERS, newest, "--url", "http://127.0.0.1:1")

    assert {name: each.exit_code for name, each in found.items()} == dict.fromkeys(found, 2)
    for each in found.values():
        told = json.loads(each.stdout)
        assert (told["verdict"], bool(told["reason"]), bool(told["would_decide"])) == ("cannot-tell", True, True)
    assert (mistyped.exit_code, down.exit_code) == (2, 2)


def test_a_catalog_that_does_not_answer_leaves_it_open(check: Check, config: Path, newest: Path) -> None:
    """As nobody knows what is on main."""
    config.write_text(config.read_text().replace("catalog.db", "gone/catalog.db"))

    assert check(ORDERS, newest).exit_code == 2


def test_without_configuration_it_is_neither_yes_nor_no(tmp_path: Path) -> None:
    """Exit code 1 is kept for what is wrong."""
    line = ["restore-check", ORDERS, "--from", "/a", "--config", str(tmp_path / "none.yaml")]

    assert CliRunner().invoke(app, line).exit_code == 2


@pytest.fixture
def desk(scene: Scene) -> RestoreService:
    """Beside a Flink that answers."""
    return RestoreService(scene.observer, SystemClock())


def test_a_run_that_is_alive_leaves_it_open(scene: Scene, desk: RestoreService, newest: Path) -> None:
    """A start beside it would repeat what it writes from now on."""
    stopped = desk.check(ORDERS, str(newest))
    scene.flink.submit(job("b"), at_checkpoint=5, restored=newest)

    alive = desk.check(ORDERS, str(newest))

    assert (stopped.verdict, stopped.alive) == (RestoreVerdict.RIGHT, ())
    assert (alive.verdict, alive.alive, alive.tables[0].verdict) == (
        RestoreVerdict.CANNOT_TELL, (job("b"),), RestoreVerdict.RIGHT,
    )  # fmt: skip


def test_each_table_of_the_job_is_judged(scene: Scene, desk: RestoreService, older: Path, newest: Path) -> None:
    """The savepoint at 3 pairs with one of them, and doubles rows of the other."""
    makes_items(scene)
    items_commit(scene, "a", 1, 2, 3)
    first, last = desk.check(ORDERS, str(older)), desk.check(ITEMS, str(older))

    assert [(each.table, each.verdict) for each in first.tables] == [
        (ORDERS, RestoreVerdict.WRONG),
        (ITEMS, RestoreVerdict.RIGHT),
    ]
    assert (first.verdict, last.verdict, last.tables[0].table) == (RestoreVerdict.WRONG, RestoreVerdict.WRONG, ITEMS)


def test_a_table_of_the_job_that_cannot_be_read_leaves_it_open(
    scene: Scene, desk: RestoreService, newest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Could not look is never nothing found."""
    makes_items(scene)
    items_commit(scene, "a", 1, 2, 3, 4, 5)
    assert desk.check(ORDERS, str(newest)).verdict is RestoreVerdict.RIGHT
    load = scene.catalog.load

    def fails(table: TableName) -> Any:
        if table == ITEMS:
            raise CouldNotLook("The catalog does not answer.", "It timed out.", "Ask again.")
        return load(table)

    monkeypatch.setattr(scene.catalog, "load", fails)

    found = desk.check(ORDERS, str(newest))

    assert (found.verdict, bool(found.would_decide)) == (RestoreVerdict.CANNOT_TELL, True)


@pytest.fixture
def served(scene: Scene, config: Path) -> Iterator[httpx.Client]:
    """Somebody who asks the API, with the token."""
    with restore_service(Settings.load(config)) as desk:
        trust = TrustService(scene.store, scene.observer, SystemClock())
        made = web_app(trust, desk, Records(CONTENT), CONTENT, Access(WebSettings(), TOKEN), lambda _users: {})
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with serving(made, "127.0.0.1", 0) as address, httpx.Client(base_url=address, headers=headers) as client:
            yield client


@pytest.mark.full
def test_the_api_gives_the_same_answer(served: httpx.Client, check: Check, older: Path, newest: Path) -> None:
    """In the same shape, to whoever has the token; and the command may ask it."""
    address = f"/v1/tables/{ORDERS}/restore-check"

    answer = served.get(address, params={"from": str(older)})
    asked = check(ORDERS, newest, "--url", str(served.base_url), WATERLINE_WEB_TOKEN=TOKEN)

    here = json.loads(check(ORDERS, older, "--json").stdout)
    assert {**answer.json(), "checked_at": None} == {**here, "checked_at": None}
    assert RestoreCheck.model_validate_json(answer.content).verdict is RestoreVerdict.WRONG
    assert asked.exit_code == 0
    assert served.get(address, params={"from": str(older)}, headers={"Authorization": "Bearer no"}).status_code == 401


def test_the_api_reads_only_the_storage_of_the_job(served: httpx.Client, check: Check, newest: Path) -> None:
    """Else whoever may ask could have any address spoken to."""
    address = f"/v1/tables/{ORDERS}/restore-check"

    elsewhere = served.get(address, params={"from": "s3://somebody/savepoint-1"}).json()
    with_query = served.get(address, params={"from": f"{newest}?endpoint_override=http://127.0.0.1:9"}).json()

    assert [elsewhere["verdict"], with_query["verdict"]] == ["cannot-tell", "cannot-tell"]
    assert served.get(address).status_code == 400
    assert served.get("/v1/tables/sales.ordres/restore-check", params={"from": "/a"}).status_code == 404
