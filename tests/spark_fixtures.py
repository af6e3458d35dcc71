"""One embedded Spark a session, whichever folder asks for it: a JVM takes half a minute until it is quick.

They are fixtures of the topmost conftest. One that is imported into a conftest or a test file is another fixture to
pytest, with a server of its own.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # a test that needs no Spark does not wait until PySpark is read
    from bot.adapters.spark import SparkEvidenceRunner
    from bot.adapters.spark_server import EmbeddedSpark, SparkServer


@pytest.fixture(scope="session")
def embedded() -> "EmbeddedSpark":
    """A small server with the jars that the lab has fetched and verified. For a hundred rows, interpreting a query
    is faster than compiling it; in half a gigabyte a tenth of the time went into collecting garbage."""
    from bot.adapters.spark_server import EmbeddedSpark
    from bot.pinned_jars import spark_jars

    interpreted = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    conf = {**interpreted, "spark.driver.extraJavaOptions": "-Dwaterline.runs=tests"}
    return EmbeddedSpark(memory="1g", jars=tuple(spark_jars(("iceberg", "sqlite", "kafka"))), conf=conf)


@pytest.fixture(scope="session")
def server(embedded: "EmbeddedSpark") -> Iterator["SparkServer"]:
    """The one server of the tests."""
    from bot.adapters.spark_server import SparkServer

    started = SparkServer(embedded)
    yield started
    started.stop()


@pytest.fixture(scope="session")
def runner(server: "SparkServer") -> Iterator["SparkEvidenceRunner"]:
    """Every task of the project, on that server by its address."""
    import spark_tasks
    from bot.adapters.spark import SparkEvidenceRunner
    from bot.evidence import find_tasks

    made = SparkEvidenceRunner(find_tasks(spark_tasks), server.url, time_limit=timedelta(minutes=2))
    yield made
    made.close()
