"""Opens the record that a command works on."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import make_url

from bot.adapters.journal_sql.store import Store, open_store
from bot.domain.errors import BadConfiguration
from bot.settings import Settings, masking


class NoRecord(BadConfiguration):
    """Raised where a command reads the record, and its file is not there: an empty one would answer instead."""


@contextmanager
def existing_record(settings: Settings) -> Iterator[Store]:
    """The settings' own record. Raises NoRecord, BadConfiguration."""
    file = make_url(settings.journal_url).database if settings.journal_url.startswith("sqlite") else None
    if file is not None and not Path(file).exists():
        raise NoRecord(
            f"There is no record at {file}.",
            "Expected the database that `waterline serve` writes; the file is not there.",
            "Check `journal.url` and `home` in the configuration, and the folder in which you run this.",
        )
    with closing(open_store(settings.journal_url, masking(settings))) as store:
        yield store


@contextmanager
def record_of(settings: Settings, *, keep: bool) -> Iterator[Store]:
    """The settings' own, or an empty one that is thrown away. Raises BadConfiguration."""
    if keep:
        try:
            settings.home.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadConfiguration(
                f"The folder {settings.home} cannot be made.",
                f"Expected a folder that you may write into; found {type(error).__name__}: {error.strerror}.",
                "Correct `home` in the configuration, or the permissions.",
            ) from error
        with closing(open_store(settings.journal_url, masking(settings))) as store:
            yield store
    else:
        with (
            TemporaryDirectory(prefix="waterline-") as folder,
            closing(open_store(f"sqlite:///{folder}/journal.db", masking(settings))) as store,
        ):
            yield store
