"""Record and catalog for commands that only tell trust: neither Spark nor Flink is asked, and no bot is needed."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.journal_sql.store import open_store
from bot.adapters.lineage import AllLineage
from bot.adapters.table_files import FolderOfTable
from bot.bootstrap import setups_of
from bot.bootstrap.watching import findings_of
from bot.domain.errors import BadConfiguration
from bot.service.incident_store import IncidentStore
from bot.service.observing import Observer
from bot.service.trust import TrustDesk
from bot.settings import Settings


@contextmanager
def trust_desk(settings: Settings) -> Iterator[TrustDesk]:
    """Only what tells whether tables can be relied on: catalog and record, read by somebody beside the bot.

    Raises BadConfiguration, also where there is no record: an empty one would know of no incident.
    """
    file = settings.journal_url.removeprefix("sqlite:///")
    if file != settings.journal_url and not Path(file).exists():
        raise BadConfiguration(
            f"There is no record at {file}.",
            "Expected the journal of the Waterline that watches these tables; without it no incident is known.",
            "Run this where the bot keeps its record, name its database in `journal.url`, or ask it by its address.",
        )
    with ExitStack() as stack:
        store = open_store(settings.journal_url)
        stack.callback(store.close)
        now = store.clock
        catalog = PyIcebergCatalog(settings.catalog.name, settings.catalog.properties, now)
        observer = Observer(catalog, setups_of(settings), jobs={}, reads=AllLineage([]), files=FolderOfTable())
        yield TrustDesk(IncidentStore(store.journal, now), observer, now, findings=findings_of(settings, store))
