"""A `_metadata` file whose state is cut out, except what Iceberg's committer and Kafka's readers keep there.

State of other operators may hold whole rows. It is overwritten with as many zeros: header, operators, sizes, names and
paths stay, and the file is read as before.
"""

from bot.adapters.checkpoint_parsing import NotUnderstood, Told, blocks_in, told_by, understood_handles
from bot.adapters.manifest_cutting import CannotBeCut

_VERSION = slice(4, 8)


def without_state(content: bytes) -> bytes:
    """The same file. Raises CannotBeCut where its layout is not understood, or where it would be read otherwise."""
    told = told_by(content)
    if told.problem is not None and not told.operators:
        raise CannotBeCut(told.problem)
    try:
        blocks = blocks_in(content, int.from_bytes(content[_VERSION], "big"))
    except NotUnderstood as error:
        raise CannotBeCut(f"its layout could not be followed: {error}") from error
    understood = understood_handles(told.operators, of_kafka=bool(told.source_positions))
    kept = {handle.inline for handle in understood if handle.inline is not None}
    cut = bytearray(content)
    for begin, length in blocks:
        if content[begin : begin + length] not in kept:
            cut[begin : begin + length] = bytes(length)
    left = bytes(cut)
    if _read(told_by(left)) != _read(told):
        raise CannotBeCut("it would be read otherwise")
    return left


def _read(told: Told) -> tuple[object, ...]:
    """What the bot knows from it."""
    sizes = tuple((part.operator_id, part.name, part.parallelism, part.bytes) for part in told.operators)
    return (told.model_copy(update={"operators": ()}), sizes)
