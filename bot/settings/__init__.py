"""Everything that can be configured: one YAML file, and secrets from the environment or from files that it names."""

from bot.observation.kafka import KafkaSettings
from bot.settings.jobs import (
    JarStartSettings,
    JobSettings,
    LoginSettings,
    OperatorStartSettings,
    SqlGatewayStartSettings,
)
from bot.settings.model import (
    CatalogSettings,
    JournalSettings,
    LineageSettings,
    NoticesSettings,
    Settings,
    SlackSettings,
    SmtpSettings,
    SparkSettings,
    WatchSettings,
    WebSettings,
    refuse_open_house,
)
from bot.settings.secrets import AlertSecrets, NoticeSecrets, SlackSecrets, WebSecrets, masking
from bot.settings.tables import TableSettings, refuse_unknown_actions

__all__ = [
    "AlertSecrets",
    "CatalogSettings",
    "JarStartSettings",
    "JobSettings",
    "JournalSettings",
    "KafkaSettings",
    "LineageSettings",
    "LoginSettings",
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
    "refuse_unknown_actions",
]
