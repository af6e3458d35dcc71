"""What the channels say of the record: every seal that was posted in them, held against the entries that are there."""

from collections.abc import Mapping, Sequence

from pydantic import Field

from bot.domain.entries import IncidentOpened
from bot.domain.ids import IncidentId
from bot.domain.journal import ChainFault, Entry
from bot.domain.record import Record
from bot.domain.seal import Link, Seal, is_milestone, seal_fault, seal_of
from bot.domain.sentences import counted


class PostedSeal(Record):
    """One message in which the bot posted a seal."""

    incident_id: IncidentId
    """Of which incident, by the message's name; so is the number."""
    seq: int
    says: tuple[Seal, ...]
    """What it says now."""
    is_edited: bool
    """Whether it was changed after it was posted, by whomever: the bot never does that."""


class Posted(Record):
    """What was found in Slack, and where nobody could look."""

    seals: tuple[PostedSeal, ...] = ()
    channels: frozenset[str] = frozenset()
    """Ids of those that were read to their end, threads too."""
    unread: dict[str, str] = Field(default_factory=dict)
    """Id of a channel that could not be read -> Slack's word for the reason."""
    problem: str | None = None
    """Why no channel was looked at."""

    def up_to(self, end: Seal) -> "Posted":
        """The same of one incident, up to and including the entry with which a file of it ends."""
        seals = tuple(each for each in self.seals if each.incident_id == end.incident_id and each.seq <= end.seq)
        return self.model_copy(update={"seals": seals, "unread": {}})


def faults_of(posted: Posted, record: Mapping[IncidentId, Sequence[Link]]) -> list[ChainFault]:
    """What does not fit between the posted seals and the record. An edited seal fits nothing, whatever it says."""
    faults = [_edited(each) for each in posted.seals if each.is_edited]
    said = [seal for each in posted.seals if not each.is_edited for seal in each.says]
    held = (seal_fault(seal, record.get(seal.incident_id, ())) for seal in said)
    return [*faults, *(fault for fault in held if fault is not None)]


def missing_in(posted: Posted, record: Mapping[IncidentId, Sequence[Entry]]) -> list[ChainFault]:
    """Each milestone whose seal is not there, although the incident's channel was read."""
    return [
        ChainFault(
            incident_id=seal.incident_id,
            seq=seal.seq,
            sentence=f"Its seal is not in {channel}, which was read to its end: it still waits to be sent, or somebody "
            "deleted it. Look again in a minute; if it stays away, hold the record against an export that was kept "
            "elsewhere.",
        )
        for entries in record.values()
        if (channel := _channel(entries)) in posted.channels
        for seal in _unsealed(posted, entries)
    ]


def not_looked(posted: Posted, record: Mapping[IncidentId, Sequence[Entry]]) -> list[str]:
    """What nobody could look for, and why. Empty: every channel was read in which a seal may be."""
    if posted.problem is not None:
        return [posted.problem]
    told = [f"{channel} could not be read: {why}." for channel, why in sorted(posted.unread.items())]
    for incident, entries in record.items():
        lacking, channel = _unsealed(posted, entries), _channel(entries)
        if lacking and channel not in posted.channels:
            where = channel or "not told by the file"
            told.append(
                f"{incident}: {counted(len(lacking), 'seal')} could not be looked for; the incident's channel "
                f"({where}) was not read: invite the bot there."
            )
    return told or ([] if posted.channels else ["The bot is in no channel."])


def _unsealed(posted: Posted, entries: Sequence[Entry]) -> list[Seal]:
    """Milestones of one incident of which no seal is posted, fitting or not."""
    there = {(each.incident_id, each.seq) for each in posted.seals if each.is_edited}
    there |= {(seal.incident_id, seal.seq) for each in posted.seals for seal in each.says}
    needed = [seal_of(entry) for entry in entries if is_milestone(entry.body)]
    return [seal for seal in needed if (seal.incident_id, seal.seq) not in there]


def _channel(entries: Sequence[Entry]) -> str | None:
    return next((entry.body.channel for entry in entries if isinstance(entry.body, IncidentOpened)), None)


def _edited(seal: PostedSeal) -> ChainFault:
    sentence = (
        "The message with its seal was edited after it was posted, which the bot never does: it proves nothing any "
        "more. Hold the record against an export that was kept elsewhere."
    )
    return ChainFault(incident_id=seal.incident_id, seq=seal.seq, sentence=sentence)
