"""Everything that can be configured: one YAML file, and secrets from the environment or from files that it names."""

from bot.settings.jobs import JarStartSettings, JobSettings, OperatorStartSettings, SqlGatewayStartSettings
from bot.settings.known_secrets import masking
from bot.settings.model import (
    CatalogSettings,
    JournalSettings,
    LineageSettings,
    Settings,
    SlackSettings,
    SparkSettings,
)
from bot.settings.notices import NoticeSecrets, NoticesSettings, SmtpSettings
from bot.settings.secrets import SlackSecrets
from bot.settings.tables import TableSettings
from bot.settings.watch import AlertSecrets, WatchSettings
from bot.settings.web import WebSecrets, WebSettings, refuse_open_house

__all__ = [
    "AlertSecrets",
    "CatalogSettings",
    "JarStartSettings",
    "JobSettings",
    "JournalSettings",
    "LineageSettings",
    "NoticeSecrets",
    "NoticesSettings",
    "OperatorStartSettings",
    "Settings",
    "SlackSecrets",
    "SlackSettings",
    "SmtpSettings",
    "SparkSettings",
    "SqlGatewayStartSettings",
    "TableSettings",
    "WatchSettings",
    "WebSecrets",
    "WebSettings",
    "masking",
    "refuse_open_house",
]
