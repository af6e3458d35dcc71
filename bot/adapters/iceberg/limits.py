"""Time limits of catalogs: PyIceberg's REST and Hive clients (0.12) wait for ever, AWS's a minute for each try.

PyIceberg is told by its own means: a class to make (`py-catalog-impl`), and a session for AWS's client.
"""

from collections.abc import Mapping
from typing import Any

from pyiceberg.catalog import BOTOCORE_SESSION, PY_CATALOG_IMPL, TYPE

from bot.adapters.iceberg.kinds import kind_of

ANSWER_WITHIN_S = 30.0
"""How long one request to a catalog may take. A commit that takes longer is not known, and looked for in the table."""
CONNECT_WITHIN_S = 5.0
LIMIT = "waterline.answer-within-s"
"""The property that carries the limit to the class."""
_CLASSES = {
    "rest": "bot.adapters.iceberg.rest.LimitedRest",
    "hive": "bot.adapters.iceberg.hive.LimitedHive",
}
_SQLITE_PATIENCE_S = 15
_AWS_TRIES = 3
"""How often AWS's client repeats by itself a request that changes nothing."""


def limited(properties: Mapping[str, str], answer_within_s: float, *, commits: bool = False) -> dict[str, Any]:
    """What to make the catalog of, so that no request of it takes longer; unchanged where it is of another kind.

    `commits`: AWS's client would repeat a commit whose answer was lost, and Glue would refuse our own commit to us: a
    yes would read as a no. Its number is no text on purpose: that client takes none.
    """
    kind = kind_of(properties)
    if kind in _CLASSES:
        others = {name: value for name, value in properties.items() if name != TYPE}
        return {**others, PY_CATALOG_IMPL: _CLASSES[kind], LIMIT: str(answer_within_s)}
    if kind == "glue":
        tries = 0 if commits else _AWS_TRIES
        return {**properties, BOTOCORE_SESSION: _aws_session(answer_within_s), "glue.max-retries": tries}
    return dict(properties)


def patient(properties: Mapping[str, str]) -> dict[str, str]:
    """SQLite waits for another engine's write lock instead of failing at once."""
    uri = properties.get("uri", "")
    if not uri.startswith("sqlite") or "timeout=" in uri:
        return dict(properties)
    joint = "&" if "?" in uri else "?"
    return {**properties, "uri": f"{uri}{joint}timeout={_SQLITE_PATIENCE_S}"}


def _aws_session(answer_within_s: float) -> object:
    """Imported only for a catalog of AWS's: it is large."""
    from botocore.config import Config
    from botocore.session import Session as AwsSession

    session = AwsSession()
    connect = min(CONNECT_WITHIN_S, answer_within_s)
    session.set_default_client_config(Config(connect_timeout=connect, read_timeout=answer_within_s))
    return session
