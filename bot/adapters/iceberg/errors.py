"""What PyIceberg and the systems under it raise, translated once: SQLAlchemy's errors (its SQL catalog hands them on),
requests' (`OSError`s), AWS's for Glue, Thrift's for a Hive metastore.

A gateway may repeat a request whose answer it lost: the first one is applied, the second one meets what the first has
changed, and a yes reads as a no. Only metadata that does not show the change proves that it was refused.
"""

from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec

from pydantic import ValidationError
from pyiceberg.exceptions import (
    BadRequestError,
    CommitFailedException,
    DynamoDbError,
    ForbiddenError,
    NoSuchNamespaceError,
    NoSuchPropertyException,
    NoSuchTableError,
    NotInstalledError,
    OAuthError,
    RESTError,
    TooManyRequestsError,
    UnauthorizedError,
    WaitingForLockException,
)
from pyiceberg.exceptions import ValidationError as NotIceberg
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import ancestors_of
from pyiceberg.table.update import (
    RemovePropertiesUpdate,
    RemoveSnapshotRefUpdate,
    SetPropertiesUpdate,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from bot.adapters.storage import in_a_line, remedy_for
from bot.observation.errors import CommitRefused, CouldNotLook, OutcomeUnknown, UnknownTable, WaterlineError
from bot.observation.ids import TableName


def _of(module: str, *names: str) -> tuple[type[Exception], ...]:
    if find_spec(module.partition(".")[0]) is None:
        return ()
    found = import_module(module)
    return tuple(getattr(found, name) for name in names)


AWS = _of("botocore.exceptions", "BotoCoreError", "ClientError")
HIVE = _of("thrift.Thrift", "TException")
"""Base of the metastore's own exceptions, too."""

_NOT_KNOWN = frozenset({"OperationTimeoutException"})
"""Glue answers it with status 400, though the operation may have come to its end."""
_PASSES = frozenset(
    {"ThrottlingException", "Throttling", "TooManyRequestsException", "RequestLimitExceeded", "SlowDown"}
    | {"ExpiredTokenException", "ExpiredToken", "RequestExpired"}
)
"""Too many at once, or a login that has run out."""


def may_pass(error: Exception) -> bool:
    """Whether AWS turned the request away for now."""
    return is_turned_away(error) and _answer(error)[1] in _PASSES


def is_turned_away(error: Exception) -> bool:
    """Whether AWS answered the request with a no: no right, no such thing, too many at once, not well formed."""
    if not isinstance(error, AWS):
        return False
    status, code = _answer(error)
    return isinstance(status, int) and 400 <= status < 500 and code not in _NOT_KNOWN


def _answer(error: Exception) -> tuple[object, object]:
    """(HTTP status, AWS's code); None where there is none."""
    answer = getattr(error, "response", None) or {}
    return answer.get("ResponseMetadata", {}).get("HTTPStatusCode"), answer.get("Error", {}).get("Code")


Raised = tuple[type[Exception], ...]
MISSING: Raised = (NoSuchTableError, NoSuchNamespaceError)
TROUBLE: Raised = (SQLAlchemyError, RESTError, OSError, ValueError, NotIceberg, DynamoDbError, *AWS, *HIVE)
"""Everything that reading from a catalog raises when the catalog or the storage cannot be asked."""

UNREAD: Raised = (*MISSING, *TROUBLE)
"""Whatever keeps a table from being read."""
UNOPENED: Raised = (*TROUBLE, NotInstalledError, NoSuchPropertyException)
"""Whatever keeps a catalog from being opened."""
UNREAD_OR_UNOPENED: Raised = (*UNREAD, CouldNotLook)
_REFUSED: Raised = (*MISSING, BadRequestError, ForbiddenError)
"""The catalog said no, and says so again."""
_TURNED_AWAY: Raised = (UnauthorizedError, TooManyRequestsError, OAuthError, WaitingForLockException)
"""The request was turned away at the door, by what may pass: a login, a crowd, a lock."""
COMMIT_TROUBLE: Raised = (CommitFailedException, WaitingForLockException, *MISSING, *TROUBLE, NotImplementedError)
"""What a kind of catalog does not do, PyIceberg tells by NotImplementedError before it asks the catalog."""

_SQLITE_BUSY, _SQLITE_LOCKED = 5, 6


def could_not_look(what: str, catalog: str, error: Exception) -> CouldNotLook:
    return CouldNotLook(
        f"{what} could not be read.",
        f"Expected an answer of the catalog {catalog}; found {_in_words(error)}.",
        remedy_for(error, "Check that the catalog and the table's storage can be reached from here, then try again."),
    )


def unknown_table(name: TableName, catalog: str) -> UnknownTable:
    return UnknownTable(
        f"There is no table {name}.",
        f"Expected it in the catalog {catalog}; the catalog does not know it.",
        "Check the name in the configuration. Write it as namespace.table, without the catalog.",
    )


def metadata_lost(name: TableName, catalog: str, location: str) -> CommitRefused:
    """Nothing may be committed while the newest state is not known (F10)."""
    return CommitRefused(
        f"Table {name} was not changed: the metadata file that its catalog points to cannot be read.",
        f"Expected to read {location}, where the catalog {catalog} points; it is missing or damaged.",
        "Restore that file, or point the catalog to the newest readable metadata file (F10). Then collect evidence "
        "again and propose again.",
    )


def not_read(name: TableName, catalog: str, error: Exception) -> CommitRefused | CouldNotLook:
    """Nothing was sent to the catalog yet; refused where it says that there is no such table."""
    kind = CommitRefused if isinstance(error, MISSING) else CouldNotLook
    return kind(
        f"Table {name} was not changed: it could not be read before the commit.",
        f"Expected its metadata from the catalog {catalog}; found {type(error).__name__}: {error}.",
        "Check that the catalog can be reached.",
    )


def not_written(name: TableName, error: Exception) -> CouldNotLook:
    """Nothing was sent to the catalog yet, and what storage had taken was deleted again."""
    return CouldNotLook(
        f"Table {name} was not changed: its storage did not accept the files of the commit.",
        f"Expected to read the existing manifests and to write new ones; found {_in_words(error)}.",
        "Check that the table's storage can be reached from here, and that Waterline may write below its location.",
    )


def overtaken(name: TableName, error: Exception) -> CouldNotLook:
    """Somebody's commit came between our look and ours, and has changed nothing that ours compares with."""
    return CouldNotLook(
        f"Table {name} was not changed: another commit came first.",
        f"The approved requirements still hold; the catalog answered: {_in_words(error)}.",
        "Wait: Waterline tries again. If this continues, find out who keeps committing to the table.",
    )


def refused_unseen(name: TableName, error: Exception, unread: Exception) -> OutcomeUnknown:
    """The catalog said no, and nobody could look whether that was the answer to the same request, sent twice."""
    return _unknown(
        name,
        f"Expected to see that it is not there, after the catalog answered {_in_words(error)}; found "
        f"{_in_words(unread)}.",
    )


def refused_and_there(name: TableName, error: Exception) -> OutcomeUnknown:
    return _unknown(
        name,
        f"Expected the table without it, after the catalog answered {_in_words(error)}; the table carries it: a "
        "gateway may have sent it twice, or somebody else has done the same.",
    )


def commit_error(name: TableName, error: Exception) -> WaterlineError:
    """CommitRefused where it is sure that nothing was applied, CouldNotLook where what was in the way may pass by
    itself, too; else OutcomeUnknown."""
    if isinstance(error, CommitFailedException) and isinstance(error.__cause__, WaitingForLockException):
        return CouldNotLook(
            f"Table {name} was not changed: somebody else holds its lock in the metastore.",
            f"Expected the lock within a few attempts; {_in_words(error.__cause__)}.",
            "Wait: Waterline tries again. If this continues, `SHOW LOCKS` in Hive names the owner. A writer that "
            "died leaves its lock for `hive.txn.timeout` (default five minutes).",
        )
    if isinstance(error, CommitFailedException):
        return CommitRefused(
            f"The catalog refused the change of {name}; nothing was changed.",
            f"Expected the table as it was approved; the catalog answered: {_in_words(error)}.",
            "Collect evidence again and propose again.",
        )
    if isinstance(error, NotImplementedError):
        return CommitRefused(
            f"Table {name} was not changed: Waterline cannot commit through this kind of catalog.",
            f"Expected a catalog through which PyIceberg commits; it says: {error}.",
            "Make the change with the engine that writes the table (the preview says what), or serve the table "
            "from a REST catalog.",
        )
    if isinstance(error, _TURNED_AWAY) or may_pass(error):
        return CouldNotLook(
            f"The catalog did not accept the change of {name}; nothing was changed.",
            f"Expected it to accept the commit; found {_in_words(error)}.",
            "Check Waterline's login, and the catalog's limits on requests and locks.",
        )
    if isinstance(error, _REFUSED) or is_turned_away(error):
        return CommitRefused(
            f"The catalog refused the change of {name}; nothing was changed.",
            f"Expected it to accept the commit; found {_in_words(error)}.",
            "Check the table's name and Waterline's rights in the catalog, then propose again.",
        )
    if _is_locked(error):
        return CouldNotLook(
            f"The catalog's database was busy, so the change of {name} was not applied.",
            f"Expected its write lock within the time limit; found {_in_words(error)}.",
            "Find out which process holds the database, then try again.",
        )
    return _unknown(name, f"Expected the catalog's yes or no; found {_in_words(error)}.")


def _unknown(name: TableName, found: str) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"It is not known whether the change of {name} was applied.",
        found,
        "Check the table. Do not repeat the change before that.",
    )


def _is_locked(error: Exception) -> bool:
    """SQLite did not give the write lock in time; the transaction has then been rolled back."""
    code = getattr(error.orig, "sqlite_errorcode", None) if isinstance(error, OperationalError) else None
    return code is not None and code & 0xFF in {_SQLITE_BUSY, _SQLITE_LOCKED}


def _in_words(error: Exception) -> str:
    """The error's kind and first line; a validation error's many lines say nothing to a responder."""
    if isinstance(error, ValidationError | NotIceberg):
        return "an answer that is not Iceberg's"
    return in_a_line(error)


Judged = tuple[WaterlineError, TableMetadata | None]
"""Why it did not go through, and the table after it: None where it was not read, so that nothing is known of it."""


def judged(
    name: TableName, requirements: Iterable[TableRequirement], error: Exception, read: Callable[[], TableMetadata]
) -> Judged:
    """A conflict is final only where what the commit compares with has changed: SQL, Hive and Glue refuse after
    whatever commit of somebody else, be it of a property. Where the table cannot be read after it, nothing is known.

    Cost: one `read`, none where the answer was neither yes nor no."""
    told = commit_error(name, error)
    if isinstance(told, OutcomeUnknown):
        return told, None
    is_conflict = isinstance(told, CommitRefused) and isinstance(error, CommitFailedException)
    try:
        now = read()
    except UNREAD as unread:
        return (refused_unseen(name, error, unread) if is_conflict else told), None
    return (overtaken(name, error) if is_conflict and holds(requirements, now) else told), now


def holds(requirements: Iterable[TableRequirement], metadata: TableMetadata) -> bool:
    """Whether the table is as a commit with these requirements expects it."""
    try:
        for each in requirements:
            each.validate(metadata)
    except CommitFailedException:
        return False
    return True


def shows(metadata: TableMetadata, updates: Iterable[TableUpdate]) -> bool:
    """Whether the table carries all that was asked for, so that it may have been applied; main may have gone on since.
    False where nothing was asked for."""
    asked = list(updates)
    return bool(asked) and all(_shows(each, metadata) for each in asked)


def _shows(update: TableUpdate, metadata: TableMetadata) -> bool:
    match update:
        case SetSnapshotRefUpdate(ref_name=name, snapshot_id=target):
            ref = metadata.refs.get(name)
            if ref is None or name != MAIN_BRANCH:
                return ref is not None and ref.snapshot_id == target
            chain = ancestors_of(metadata.snapshot_by_id(ref.snapshot_id), metadata)
            return any(each.snapshot_id == target for each in chain)
        case RemoveSnapshotRefUpdate():
            return update.ref_name not in metadata.refs
        case SetPropertiesUpdate():
            return update.updates.items() <= metadata.properties.items()
        case RemovePropertiesUpdate():
            return not set(update.removals) & metadata.properties.keys()
        case _:  # of no other kind is a change of ours
            return False
