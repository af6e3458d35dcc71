"""`waterline doctor` with one thing broken at a time: one line that names it, its exit code, and soon."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from typer.testing import CliRunner

from bot.adapters.spark_server import EmbeddedSpark, SparkServer
from bot.cli import app
from bot.slack.directory import SCOPES
from bot.workspace import Workspace
from tests.adapters.serving import served, unused_address
from tests.adapters.test_logins import certificate
from tests.catalogs.ailing_s3 import AilingS3, ailing_s3
from tests.catalogs.orders import Orders

COULD_NOT_TELL = 2
SOON_S = 60.0
"""On a machine that does other work as well."""
Settings = Mapping[str, Any]
Doctor = Callable[..., tuple[int, list[str]]]


@pytest.fixture(scope="module")
def slack() -> Iterator[tuple[str, str]]:
    """(Address, token) of a workspace that lacks nothing."""
    with Workspace(scopes=frozenset(SCOPES)).serve() as workspace:
        yield workspace.api_url, workspace.bot_token


@pytest.fixture
def storage(aws: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[AilingS3]:
    """S3 behind a proxy; the environment leads nowhere."""
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with ailing_s3(aws) as between:
        yield between


@pytest.fixture
def lake(storage: AilingS3, tmp_path: Path) -> Iterator[dict[str, str]]:
    """`sales.orders` with its files there."""
    place = {"type": "sql", "uri": f"sqlite:///{tmp_path / 'catalog.db'}", "warehouse": f"s3://lake/{tmp_path.name}"}
    properties = {**place, "s3.endpoint": storage.address, "s3.region": "us-east-1", **keys("of-the-catalog")}
    made = Orders("sql", "sales", properties)
    yield properties
    storage.admitted = None
    made.close()


def keys(name: str) -> dict[str, str]:
    """Properties with the keys of this name."""
    return {"s3.access-key-id": name, "s3.secret-access-key": "any"}


@pytest.fixture
def doctor(tmp_path: Path, slack: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> Doctor:
    """`doctor(properties, …)`: exit code, and the lines that are not well or are of the mark, each in one piece."""
    monkeypatch.setenv("SLACK_BOT_TOKEN", slack[1])

    def ask(
        properties: Settings, *, spark: Settings | None = None, job: Settings | None = None, mark: str = "tag"
    ) -> Any:
        table = {"contract": {"key": ["order_id"]}, "policies": {"default": {"users": ["U0BEN00002", "U0ANA00001"]}}}
        content = {
            "home": str(tmp_path / "home"),
            "slack": {"base_url": slack[0]},
            "catalog": {"name": "lake", "properties": dict(properties), "mark": mark},
            "spark": {"remote": "sc://127.0.0.1:1", **(spark or {})},
            "jobs": {} if job is None else {"orders": job},
            "tables": {"sales.orders": {**table, **({} if job is None else {"job": "orders"})}},
        }
        (tmp_path / "waterline.yaml").write_text(json.dumps(content))
        began = time.monotonic()
        result = CliRunner().invoke(app, ["doctor", "-c", str(tmp_path / "waterline.yaml")], env={"COLUMNS": "2000"})
        assert time.monotonic() - began < SOON_S, result.stdout
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        rows = [" | ".join(cell.strip() for cell in line.strip("│").split("│")) for line in result.stdout.splitlines()]
        return result.exit_code, [
            row for row in rows if row.startswith(("COULD NOT CHECK", "PROBLEM", "ok | mark", "note | mark"))
        ]

    return ask


async def unauthorized(_request: Request) -> JSONResponse:
    """As a REST catalog answers a token that has expired."""
    return JSONResponse({"error": {"message": "Expired", "type": "NotAuthorizedException", "code": 401}}, 401)


REFUSES = Starlette(routes=[Route("/{path:path}", unauthorized, methods=["GET", "POST"])])


def test_a_token_of_the_catalog_that_has_expired(doctor: Doctor) -> None:
    """The login is to be renewed; that the catalog runs is plain."""
    with served(REFUSES) as address:
        code, lines = doctor({"type": "rest", "uri": address, "token": "old"}, mark="property")

    assert COULD_NOT_TELL == code
    assert says(lines, "mark of the trusted snapshot", "table properties alone", "waterline.snapshot")
    assert says(lines, "table sales.orders", "NotAuthorizedException", "Renew the login")


def test_a_catalog_whose_certificate_is_not_trusted(doctor: Doctor, tmp_path: Path) -> None:
    """Its authority is to be named."""
    file, key = certificate(tmp_path, "server")
    with served(REFUSES, ssl_certfile=file, ssl_keyfile=key) as address:
        code, lines = doctor({"type": "rest", "uri": address})

    assert COULD_NOT_TELL == code
    assert says(lines, "table sales.orders", "self-signed certificate", "Name the authority")


def test_a_catalog_that_is_down(doctor: Doctor) -> None:
    """Whether it runs, and where."""
    code, lines = doctor({"type": "rest", "uri": unused_address()})

    assert COULD_NOT_TELL == code
    assert says(lines, "table sales.orders", "Connection refused", "Check that it runs")


def test_s3_that_denies_waterline(doctor: Doctor, lake: dict[str, str], storage: AilingS3) -> None:
    """Keys and rights are to be looked at, and not the network."""
    storage.admitted = "somebody-else"

    code, lines = doctor(lake)

    assert COULD_NOT_TELL == code
    assert says(lines, "table sales.orders", "ACCESS_DENIED", "Check the keys")


def test_a_bucket_of_checkpoints_that_is_not_there(doctor: Doctor, lake: dict[str, str]) -> None:
    """The table is well, and says so."""
    job = {"flink": unused_address(), "checkpoint_dir": "s3://no-such-bucket/checkpoints"}

    code, lines = doctor(lake, job=job)

    assert COULD_NOT_TELL == code
    assert says(lines, "state of orders", "NO_SUCH_BUCKET", "name of the bucket")
    assert not says(lines, "table sales.orders")


@pytest.mark.slow
def test_a_spark_that_is_denied_and_one_that_is_frozen(
    doctor: Doctor, lake: dict[str, str], storage: AilingS3, embedded: EmbeddedSpark
) -> None:
    """Somebody else's, with keys of its own: what Waterline reads by itself is well all the while."""
    server = SparkServer(embedded.model_copy(update={"properties": {**lake, **keys("of-spark")}}))
    spark = {"remote": server.url, "answer_timeout": "PT4S"}
    try:
        well = doctor(lake, spark=spark)
        storage.admitted = "of-the-catalog"
        denied = doctor(lake, spark=spark)
        os.kill(server.pid, signal.SIGSTOP)
        frozen = doctor(lake, spark=spark)
    finally:
        os.kill(server.pid, signal.SIGCONT)
        server.stop()

    assert not says(well[1], "Spark")
    assert says(denied[1], "Spark on sales.orders", "denied Spark access", "Check the keys")
    assert says(frozen[1], "Spark (sc://", "does not answer", "Look at the Spark server")
    assert [COULD_NOT_TELL] * 2 == [denied[0], frozen[0]]
    assert not says([*denied[1], *frozen[1]], "table sales.orders")


def says(lines: list[str], what: str, *parts: str) -> bool:
    """Whether exactly one line is about this, and holds these parts."""
    about = [line for line in lines if line.partition(" | ")[2].startswith(what)]
    return len(about) == 1 and all(part in about[0] for part in parts)
