"""What the channels say of the record: every seal that was posted in them, held against the entries that are there."""

from collections.abc import Mapping, Sequence

from bot.domain.ids import IncidentId
from bot.domain.journal import ChainFault
from bot.domain.record import Record
from bot.domain.seal import Link, Seal, seal_fault


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
    """What was found in Slack."""

    seals: tuple[PostedSeal, ...] = ()

    def up_to(self, end: Seal) -> "Posted":
        """The same of one incident, up to and including the entry with which a file of it ends."""
        return self.model_copy(
            update={
                "seals": tuple(
                    seal for seal in self.seals if seal.incident_id == end.incident_id and seal.seq <= end.seq
                )
            }
        )


def faults_of(posted: Posted, record: Mapping[IncidentId, Sequence[Link]]) -> list[ChainFault]:
    """What does not fit between the posted seals and the record. An edited seal fits nothing, whatever it says."""
    faults = [_edited(each) for each in posted.seals if each.is_edited]
    said = [seal for each in posted.seals if not each.is_edited for seal in each.says]
    held = (seal_fault(seal, record.get(seal.incident_id, ())) for seal in said)
    return [*faults, *(fault for fault in held if fault is not None)]


def _edited(seal: PostedSeal) -> ChainFault:
    sentence = (
        "The message with its seal was edited after it was posted, which the bot never does: it proves nothing any "
        "more. Hold the record against an export that was kept elsewhere."
    )
    return ChainFault(incident_id=seal.incident_id, seq=seal.seq, sentence=sentence)
