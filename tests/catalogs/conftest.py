"""Catalogs of four kinds on loopback: SQL, REST (Iceberg's own servlet), Hive (its own metastore), Glue (moto's)."""

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path

import boto3
import pytest

from bot.adapters.iceberg import PyIcebergCatalog
from tests.adapters.conftest import StandingClock
from tests.adapters.serving import aws_of_moto
from tests.catalogs.hive_metastore import Metastore, hive_metastore
from tests.catalogs.losing_proxy import LosingProxy, losing_proxy
from tests.catalogs.orders import Orders
from tests.catalogs.rest_server import RestServer, rest_server

KINDS = ("sql", "rest", "hive", "glue")
_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def rest_catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestServer]:
    """Iceberg's own REST catalog server."""
    with rest_server(tmp_path_factory.mktemp("rest-catalog")) as server:
        yield server


@pytest.fixture(scope="session")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Metastore]:
    """Hive's own metastore."""
    with hive_metastore(tmp_path_factory.mktemp("hive")) as server:
        yield server


@pytest.fixture(scope="session")
def aws() -> Iterator[str]:
    """Address of moto's server: S3 with the bucket `lake`, and Glue."""
    keys = {"aws_access_key_id": "any", "aws_secret_access_key": "any", "region_name": "us-east-1"}
    with aws_of_moto() as address:
        client = boto3.client("s3", endpoint_url=address, **keys)
        client.create_bucket(Bucket="lake")
        client.close()
        yield address


@pytest.fixture
def properties(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> Mapping[str, str]:
    """What the configuration file would say of this kind of catalog."""
    match kind:
        case "rest":
            return request.getfixturevalue("rest_catalog").properties
        case "hive":
            return request.getfixturevalue("metastore").properties
        case "glue":
            return glue_properties(request.getfixturevalue("aws"))
        case _:
            warehouse = (tmp_path / "warehouse").as_uri()
            return {"type": "sql", "uri": f"sqlite:///{tmp_path / 'catalog.db'}", "warehouse": warehouse}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """The kind of catalog: every test that asks for it runs once for each."""
    return str(request.param)


@pytest.fixture
def orders(kind: str, properties: Mapping[str, str]) -> Iterator[Orders]:
    """`salesN.orders` with three commits."""
    made = Orders(kind, f"sales{next(_NUMBERS)}", properties)
    yield made
    made.close()


@pytest.fixture
def proxy(rest_catalog: RestServer) -> Iterator[LosingProxy]:
    """A proxy before the REST catalog that can lose answers."""
    with losing_proxy(rest_catalog.address) as between:
        yield between


@pytest.fixture
def through(proxy: LosingProxy) -> Iterator[PyIcebergCatalog]:
    """Our side, behind the proxy."""
    adapter = PyIcebergCatalog("lake", proxy.properties, StandingClock())
    yield adapter
    adapter.close()


def glue_properties(address: str) -> dict[str, str]:
    """Glue and S3 at one address."""
    keys = {"access-key-id": "any", "secret-access-key": "any", "region": "us-east-1", "endpoint": address}
    return {
        "type": "glue",
        "warehouse": "s3://lake/warehouse",
        **{f"{service}.{key}": value for service in ("glue", "s3") for key, value in keys.items()},
    }
