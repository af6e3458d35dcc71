"""What was seen of one consumer's own reading, as a notice tells it."""

from typing import Annotated, Literal

from pydantic import Field

from bot.domain.ids import SnapshotId
from bot.domain.record import Documented, Utc
from bot.notices.extent import SnapshotRange


class RunAbove(Documented):
    """A run of this consumer that read affected commits."""

    run_id: str
    """As lineage names it."""
    at: Utc
    """By when it had read the first of them: of the last event that tells so."""
    ranges: tuple[SnapshotRange, ...]
    """Which affected snapshots it read, at least one."""


class ReadAbove(Documented):
    """This consumer was seen reading above the waterline."""

    kind: Literal["read-above"] = "read-above"
    """Which of the five it is."""
    runs: tuple[RunAbove, ...]
    """Oldest first, at least one."""
    snapshots: tuple[SnapshotId, ...]
    """Every affected snapshot that they read: full ids, oldest first."""
    ranges: tuple[SnapshotRange, ...]
    """The same, condensed."""


class RunThrough(Documented):
    """A run of this consumer that read what another run had computed from an affected commit."""

    run_id: str
    """As lineage names it."""
    at: Utc
    """When it ran."""
    path: tuple[str, ...]
    """The way from the table to it: datasets and the consumers that wrote them, in turn."""
    distance: int
    """Runs between the table and it, itself included: at least 2."""


class ReadThrough(Documented):
    """This consumer did not read an affected commit itself, but results that were computed from one."""

    kind: Literal["read-through"] = "read-through"
    """Which of the five it is."""
    runs: tuple[RunThrough, ...]
    """Nearest first, at least one."""
    snapshots: tuple[SnapshotId, ...]
    """Every affected snapshot from which their inputs came: full ids, oldest first."""
    ranges: tuple[SnapshotRange, ...]
    """The same, condensed."""


class ConsumerRuns(Documented):
    """How many runs of one consumer read an affected commit, themselves or through others."""

    consumer: str
    """Its name in lineage."""
    runs: int
    """How many of its runs."""
    distance: int
    """Runs between the table and it, itself included: 1 reads the table."""


class ManyReaders(Documented):
    """The audience is a channel or a list of addresses, not one consumer: everybody who was seen reading."""

    kind: Literal["many"] = "many"
    """Which of the five it is."""
    consumers: tuple[ConsumerRuns, ...]
    """Nearest first; empty: nobody was seen."""


class NotObserved(Documented):
    """Lineage was asked, and no run of this consumer read an affected commit."""

    kind: Literal["not-observed"] = "not-observed"
    """Which of the five it is."""
    runs_seen: int
    """Runs of this consumer that lineage does know in that time."""


class ReadersUnknown(Documented):
    """We could not look, or what we saw does not name the snapshot."""

    kind: Literal["unknown"] = "unknown"
    """Which of the five it is."""
    source: str
    """What was asked; for responders, as the reason is."""
    reason: str
    """Why it could not tell. It may name addresses and paths that are nothing to consumers."""


Reading = Annotated[ReadAbove | ReadThrough | ManyReaders | NotObserved | ReadersUnknown, Field(discriminator="kind")]
