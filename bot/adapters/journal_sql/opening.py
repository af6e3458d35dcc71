"""Opens the record that a command works on."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from tempfile import TemporaryDirectory

from bot.adapters.journal_sql.store import Store, open_store
from bot.settings import Settings, masking


@contextmanager
def record_of(settings: Settings, *, keep: bool) -> Iterator[Store]:
    """The settings' own, or an empty one that is thrown away. Raises BadConfiguration."""
    if keep:
        settings.home.mkdir(parents=True, exist_ok=True)
        with closing(open_store(settings.journal_url, masking(settings))) as store:
            yield store
    else:
        with (
            TemporaryDirectory(prefix="waterline-") as folder,
            closing(open_store(f"sqlite:///{folder}/journal.db", masking(settings))) as store,
        ):
            yield store
