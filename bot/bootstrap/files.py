"""Opens the files that the settings, or a table's catalog, name."""

from collections.abc import Callable
from pathlib import Path

from bot.adapters.clock import SystemClock
from bot.adapters.contracts import contract_of
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.storage import Opened
from bot.domain.contract import TableContract
from bot.domain.ids import TableName
from bot.settings import Settings


def filed_contracts(settings: Settings) -> Callable[[TableName], TableContract | None]:
    """Reads what a table's contract file says now; None where it has no file. It raises BadConfiguration."""

    def filed(table: TableName) -> TableContract | None:
        file = settings.tables[table].contract_file if table in settings.tables else None
        return None if file is None else contract_of(file, table)

    return filed


def files_of(config: Path, table: TableName) -> Opened:
    """Opens the table's own files as its catalog says now: one catalog call. Raises UnknownTable, CouldNotLook."""
    settings = Settings.load(config)
    catalog = PyIcebergCatalog(settings.catalog.name, settings.catalog.properties, SystemClock())
    try:
        catalog.load(table)
    finally:
        catalog.close()
    return catalog.storage.of(table)
