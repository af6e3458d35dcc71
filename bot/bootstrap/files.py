"""Opens the files that the settings, or a table's catalog, name."""

from pathlib import Path

from bot.adapters.clock import SystemClock
from bot.adapters.contract_patch import ContractFiles
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.iceberg.storage import Opened
from bot.domain.ids import TableName
from bot.settings import Settings


def contract_files(settings: Settings) -> ContractFiles:
    """The data contracts of the watched tables, for those that have a file."""
    tables = settings.tables.items()
    return ContractFiles({name: table.contract_file for name, table in tables if table.contract_file is not None})


def files_of(config: Path, table: TableName) -> Opened:
    """Opens the table's own files as its catalog says now: one catalog call. Raises UnknownTable, CouldNotLook."""
    settings = Settings.load(config)
    catalog = PyIcebergCatalog(settings.catalog.name, settings.catalog.properties, SystemClock())
    try:
        catalog.load(table)
    finally:
        catalog.close()
    return catalog.storage.of(table)
