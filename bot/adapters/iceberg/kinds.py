"""What kind of catalog its properties lead to, as PyIceberg decides it: by its `type`, else by its address."""

from collections.abc import Mapping

from pyiceberg.catalog import PY_CATALOG_IMPL, TYPE, URI

_BY_ADDRESS = {"http": "rest", "thrift": "hive", "sqlite": "sql", "postgresql": "sql"}


def kind_of(properties: Mapping[str, str]) -> str:
    """`sql`, `rest`, `hive`, `glue`, or whatever type is named; empty where neither type nor address tells, or a class
    of one's own is named."""
    if told := properties.get(TYPE, ""):
        return told
    if PY_CATALOG_IMPL in properties:
        return ""
    address = properties.get(URI, "")
    return next((kind for start, kind in _BY_ADDRESS.items() if address.startswith(start)), "")
