"""The jars of a real Iceberg REST catalog server: pinned, fetched once into the cache, verified on each use.

Cost: 32 MB once.
"""

from pathlib import Path

import pytest

from bot.pinned_jars import MachineError, parse_pins, present, pyspark_jars

PINS = Path(__file__).with_name("jars.txt")


def server_jars() -> list[Path]:
    """The class path of the server. Skips the test where they are neither cached nor to be had."""
    try:
        jars = present(parse_pins(PINS, ("rest",)))
    except MachineError as error:
        pytest.skip(f"the REST catalog server's jars cannot be had: {error}")
    return [*jars, *pyspark_jars().glob("hadoop-client-*.jar")]
