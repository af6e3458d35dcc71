"""What each kind of catalog needs of us beside PyIceberg (0.12): time limits, locks, sequence numbers, times.

PyIceberg's REST and Hive clients wait for ever, AWS's a minute for each try. Without a lock of the Hive metastore a
commit of ours could overwrite somebody else's. Manifests bear a sequence number before the catalog decides, which
PyIceberg checks in format 2 alone. And it takes the time of this machine: a commit with a time before the table's last
change keeps Java's Iceberg (1.12, it lets one minute pass) from loading the table at all.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from importlib.util import find_spec
from threading import Thread
from typing import Any

from pyiceberg.catalog import BOTOCORE_SESSION, PY_CATALOG_IMPL, TYPE, URI, Catalog, MetastoreCatalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import AddSnapshotUpdate, TableRequirement, TableUpdate
from requests import ReadTimeout, Response, Session

from bot.adapters import http
from bot.observation.errors import CommitRefused, CouldNotLook
from bot.observation.ids import TableName

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


ANSWER_TIMEOUT_S = 30.0
"""How long one request to a catalog may take. A commit that takes longer is not known, and looked for in the table."""
CONNECT_WITHIN_S = 5.0
LIMIT = "waterline.answer-within-s"
"""The property that carries the limit to the class."""
_CLASSES = {
    "rest": "bot.adapters.iceberg.backends.LimitedRest",
    "hive": "bot.adapters.iceberg.hive.LimitedHive",
}
_SQLITE_PATIENCE_S = 15
_AWS_TRIES = 3
"""How often AWS's client repeats by itself a request that changes nothing."""


def limited(properties: Mapping[str, str], answer_timeout_s: float, *, commits: bool = False) -> dict[str, Any]:
    """What to make the catalog of, so that no request of it takes longer; unchanged where it is of another kind.

    `commits`: AWS's client would repeat a commit whose answer was lost, and Glue would refuse our own commit to us: a
    yes would read as a no. Its number is no text on purpose: that client takes none.
    """
    kind = kind_of(properties)
    if kind in _CLASSES:
        others = {name: value for name, value in properties.items() if name != TYPE}
        return {**others, PY_CATALOG_IMPL: _CLASSES[kind], LIMIT: str(answer_timeout_s)}
    if kind == "glue":
        tries = 0 if commits else _AWS_TRIES
        return {**properties, BOTOCORE_SESSION: _aws_session(answer_timeout_s), "glue.max-retries": tries}
    return dict(properties)


def patient(properties: Mapping[str, str]) -> dict[str, str]:
    """SQLite waits for another engine's write lock instead of failing at once."""
    uri = properties.get("uri", "")
    if not uri.startswith("sqlite") or "timeout=" in uri:
        return dict(properties)
    joint = "&" if "?" in uri else "?"
    return {**properties, "uri": f"{uri}{joint}timeout={_SQLITE_PATIENCE_S}"}


def _aws_session(answer_timeout_s: float) -> object:
    """Imported only for a catalog of AWS's: it is large."""
    from botocore.config import Config
    from botocore.session import Session as AwsSession

    session = AwsSession()
    connect = min(CONNECT_WITHIN_S, answer_timeout_s)
    session.set_default_client_config(Config(connect_timeout=connect, read_timeout=answer_timeout_s))
    return session


_NEEDS = {"hive": "thrift", "glue": "boto3", "dynamodb": "boto3", "bigquery": "google", "rest-sigv4": "boto3"}
"""PyIceberg's extra -> a package that it brings."""


def must_be_installed(name: str, properties: Mapping[str, str]) -> None:
    """Raises CouldNotLook where this kind of catalog needs a library that is not there."""
    kind = kind_of(properties)
    extra = "rest-sigv4" if properties.get("rest.sigv4-enabled", "").lower() == "true" else kind
    if extra in _NEEDS and find_spec(_NEEDS[extra]) is None:
        raise CouldNotLook(
            f"The catalog {name} could not be opened: a package that it needs is not installed.",
            f"Expected PyIceberg with its extra “{extra}” for a catalog of type {kind or extra}; found PyIceberg "
            "without it.",
            f"Install it with Waterline (pip install 'pyiceberg[{extra}]'), then restart Waterline.",
        )


_LOCKED = "engine.hive.lock-enabled"


def refuse_unlocked(table: TableName, catalog: Mapping[str, str], properties: Mapping[str, str]) -> None:
    """Raises CommitRefused for a table in a Hive metastore whose engines are told to commit without its lock.

    PyIceberg compares under that lock and then writes without comparing again; an engine that does not take the lock
    may commit in between, and its commit would be lost.
    """
    if kind_of(catalog) == "hive" and properties.get(_LOCKED, "true").lower() == "false":
        raise CommitRefused(
            f"Table {table} was not changed: its writers commit without the metastore's lock.",
            f"Expected `{_LOCKED}` not to be false; found it false, so a commit in between could be lost.",
            "Stop every writer and make the change with the engine that writes the table. Or turn locking on for "
            "its engines.",
        )


_STAGES = "_update_and_stage_table"
"""Method by which PyIceberg's catalogs make the next metadata of the newest, before they write and compare it."""
BEHIND_MS = 30_000
"""So far a commit may lie before the last change: half of what Java lets pass."""


def guarded(catalog: Catalog) -> Catalog:
    """The same catalog, which gives each sequence number once and lets no time go back. Where the server itself makes
    the metadata (REST), it looks after the numbers, and only a new snapshot bears a time of ours."""
    if isinstance(catalog, MetastoreCatalog):
        setattr(catalog, _STAGES, partial(_staged, getattr(catalog, _STAGES)))
    else:
        setattr(catalog, "commit_table", partial(_sent, catalog.commit_table))  # noqa: B010 - mypy forbids the other way
    return catalog


def _staged(
    others: Any,
    newest: Table | None,
    identifier: tuple[str, ...],
    requirements: tuple[TableRequirement, ...],
    updates: tuple[TableUpdate, ...],
) -> Any:
    """In place of the catalog's own method, which `others` is: nothing is written yet. Requirements come first: they
    say who has moved what. Raises CommitFailedException, CouldNotLook."""
    if newest is None:
        return others(newest, identifier, requirements, updates)
    for requirement in requirements:
        requirement.validate(newest.metadata)
    free, added = newest.metadata.next_sequence_number(), [u for u in updates if isinstance(u, AddSnapshotUpdate)]
    if any((each.snapshot.sequence_number or 0) < free for each in added):
        raise CommitFailedException(
            "Another commit, on whatever branch, has taken the sequence number since the table was read"
        )
    made = others(newest, identifier, requirements, updates)
    if made.metadata != newest.metadata:
        _must_follow(identifier, newest.metadata, made.metadata.last_updated_ms)
    return made


def _sent(
    others: Any, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
) -> Any:
    """In place of the catalog's own method, which `others` is. Raises CouldNotLook."""
    for update in updates:
        if isinstance(update, AddSnapshotUpdate):
            _must_follow(table.name(), table.metadata, update.snapshot.timestamp_ms)
    return others(table, requirements, updates)


def _must_follow(name: tuple[str, ...], before: TableMetadata, at_ms: int) -> None:
    last_ms = max([before.last_updated_ms, *(entry.timestamp_ms for entry in before.snapshot_log[-1:])])
    behind_ms = last_ms - at_ms
    if behind_ms > BEHIND_MS:
        raise CouldNotLook(
            f"Table {'.'.join(name)} was not changed: this machine's clock is {round(behind_ms / 1000):,} s behind the "
            "table's last change.",
            f"Expected at most {BEHIND_MS // 1000} s: Java's Iceberg refuses to load a table whose times go back by "
            "more than a minute.",
            "Set the clocks of this machine and of the table's writers (NTP). Waterline tries again.",
        )


class LimitedRest(RestCatalog):
    """A REST catalog each of whose requests ends, the first ones for its configuration and a token included."""

    def __init__(self, name: str, **properties: str) -> None:
        self._limit_s = float(properties.pop(LIMIT, ANSWER_TIMEOUT_S))
        super().__init__(name, **properties)

    def _config_headers(self, session: Session) -> None:
        """Called first with each new session."""
        limit = (min(CONNECT_WITHIN_S, self._limit_s), self._limit_s)
        session.request = partial(_whole, partial(session.request, timeout=limit))  # type: ignore[method-assign]
        super()._config_headers(session)


def _whole(ask: Callable[..., Response], *asked: object, **named: object) -> Response:
    """The answer, if all of it comes in time: requests limits each read only. What is given up goes on in its thread,
    which keeps no process from ending."""
    told: Future[Response] = Future()

    def asks() -> None:
        try:
            told.set_result(ask(*asked, **named))
        except BaseException as error:  # noqa: BLE001 - it is for whoever asked
            told.set_exception(error)

    Thread(target=copy_context().run, args=(asks,), daemon=True).start()
    try:
        return told.result(http.LIMIT_S)
    except TimeoutError as error:
        raise ReadTimeout(f"not whole after {http.LIMIT_S:g} s") from error
