"""A catalog or a storage that takes the connection and never answers: it is said, soon, and the bot goes on."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from bot.adapters import http, storage
from bot.adapters.checkpoint_files import CheckpointFiles
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.storage import opened_with
from bot.observation.errors import CouldNotLook
from bot.observation.ids import TableName
from tests.adapters.conftest import StandingClock
from tests.adapters.serving import unused_address
from tests.telling.receivers import dripping

LIMIT_S = 0.2
KEYS = {"access-key-id": "any", "secret-access-key": "any", "region": "us-east-1"}
pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def silent() -> Iterator[str]:
    """Its address."""
    kept: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:

        def takes() -> None:
            while True:
                try:
                    kept.append(server.accept()[0])
                except OSError:
                    return

        thread = threading.Thread(target=takes, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
    thread.join(5)
    for each in kept:
        each.close()


def catalog(kind: str, address: str) -> dict[str, str]:
    """Properties of a catalog at this address."""
    if kind == "hive":
        return {"uri": address.replace("http:", "thrift:")}
    if kind == "glue":
        return {"type": "glue", "glue.endpoint": address, **{f"glue.{name}": value for name, value in KEYS.items()}}
    token = {"credential": "who:what", "oauth2-server-uri": f"{address}/token"} if kind == "rest with a token" else {}
    return {"uri": address, **token, **({"type": "rest"} if kind != "rest by its address" else {})}


@pytest.mark.parametrize("kind", ["rest", "rest by its address", "rest with a token", "hive", "glue"])
def test_a_catalog_that_never_answers_could_not_be_asked(silent: str, kind: str) -> None:
    """PyIceberg's REST and Hive clients would wait for ever, AWS's for four minutes."""
    ours = PyIcebergCatalog("lake", catalog(kind, silent), StandingClock(), answer_timeout_s=LIMIT_S)

    with pytest.raises(CouldNotLook, match=r"[tT]imed? ?out"):
        ours.load(TableName("sales.orders"))

    ours.close()


@pytest.mark.parametrize("kind", ["rest", "rest with a token"])
@pytest.mark.parametrize("begins", [b"HTTP/1.1 200 OK\r\nX-Slow: ", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_a_catalog_that_answers_byte_by_byte_is_given_up(
    monkeypatch: pytest.MonkeyPatch, kind: str, begins: bytes
) -> None:
    """In its headers or in its body: each byte comes in time, and the whole never does."""
    monkeypatch.setattr(http, "LIMIT_S", 0.3)
    with dripping(begins) as at:
        ours = PyIcebergCatalog("lake", catalog(kind, at.removesuffix("/hook")), StandingClock())
        with pytest.raises(CouldNotLook, match="not whole after"):
            ours.load(TableName("sales.orders"))
        ours.close()


@pytest.mark.parametrize("kind", ["hive", "glue"])
def test_a_catalog_that_cannot_be_reached_is_not_a_table_that_is_gone(kind: str) -> None:
    """Thrift's and AWS's own errors are translated, too."""
    ours = PyIcebergCatalog("lake", catalog(kind, unused_address()), StandingClock())

    with pytest.raises(CouldNotLook, match="could not be read"):
        ours.load(TableName("sales.orders"))

    ours.close()


def test_restore_points_on_an_s3_that_never_answers(silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the environment, as checkpoints are: three tries, not thirty."""
    told = {"AWS_ENDPOINT_URL": silent, "AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any"}
    for name, value in {**told, "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(storage, "S3_WITHIN_S", LIMIT_S)
    began = time.monotonic()

    with pytest.raises(CouldNotLook, match=r"s3://lake/chk, could not be read.*Timeout was reached"):
        CheckpointFiles("s3://lake/chk", None).stored("orders-job", [])

    assert time.monotonic() - began < 20


def test_a_tables_own_files_on_an_s3_that_never_answers(silent: str) -> None:
    """By the properties of its catalog."""
    properties = {"s3.endpoint": silent, **{f"s3.{name}": value for name, value in KEYS.items()}}
    files, path = opened_with({**properties, "s3.request-timeout": str(LIMIT_S)}, "s3://lake/orders/data/1.parquet")

    with pytest.raises(OSError, match="Timeout was reached"):
        files.get_file_info(path)
