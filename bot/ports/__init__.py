"""What the application asks of the outside world. Adapters answer; nothing else may."""

from bot.ports.around import Clock, Directory, Timers
from bot.ports.jobs import CheckpointStore, FlinkJobs, JobPorts, KafkaBroker, NamedSavepoint, PastRuns, Stopped
from bot.ports.kept import LONGEST_WAIT, Cursor, Delivery, Inbox, Journal, Outbox, Post, SeenStarts, WatchNotes
from bot.ports.outside import (
    EvidenceRunner,
    FileChange,
    ReadEvents,
    RowChange,
    RowReplay,
    SourceReplays,
    TableCatalog,
    TableChange,
    TableFiles,
)

__all__ = [
    "LONGEST_WAIT",
    "CheckpointStore",
    "Clock",
    "Cursor",
    "Delivery",
    "Directory",
    "EvidenceRunner",
    "FileChange",
    "FlinkJobs",
    "Inbox",
    "JobPorts",
    "Journal",
    "KafkaBroker",
    "NamedSavepoint",
    "Outbox",
    "PastRuns",
    "Post",
    "ReadEvents",
    "RowChange",
    "RowReplay",
    "SeenStarts",
    "SourceReplays",
    "Stopped",
    "TableCatalog",
    "TableChange",
    "TableFiles",
    "Timers",
    "WatchNotes",
]
