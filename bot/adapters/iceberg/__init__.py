"""Iceberg's catalogs through PyIceberg: metadata and commits, never data."""

from bot.adapters.iceberg.catalog import PyIcebergCatalog

__all__ = ["PyIcebergCatalog"]
