"""What is wrong with a payload, each with the place as a JSON pointer; and the checks that all blocks share."""

from collections.abc import Iterator, Sequence

from bot.workspace.refusal import Payload

TEXT_KINDS = ("plain_text", "mrkdwn")


class Findings:
    """Collects what is wrong; empty means that Slack would take it."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def add(self, at: str, message: str) -> None:
        self.messages.append(f"{message} [json-pointer:{at}]")

    def mapping(self, value: object, at: str) -> Payload | None:
        if isinstance(value, dict):
            return value
        self.add(at, "must be an object")
        return None

    def items(self, value: object, at: str, *, least: int, most: int) -> Iterator[tuple[Payload, str]]:
        """The objects of a list with their places, if their number is within bounds (both inclusive)."""
        if not isinstance(value, list):
            self.add(at, "must be an array")
            return
        if len(value) < least:
            self.add(at, f"must contain at least {least} item{'s' if least > 1 else ''}")
        if len(value) > most:
            self.add(at, f"no more than {most} items allowed")
            return
        for index, item in enumerate(value):
            if (entry := self.mapping(item, f"{at}/{index}")) is not None:
                yield entry, f"{at}/{index}"

    def string(self, owner: Payload, key: str, at: str, *, most: int, required: bool = False) -> None:
        """A string field: there if required, not empty if required, at most `most` characters."""
        value = owner.get(key)
        if value is None:
            if required:
                self.add(at, f"missing required field: {key}")
            return
        if not isinstance(value, str):
            self.add(f"{at}/{key}", "must be a string")
        elif required and not value:
            self.add(f"{at}/{key}", "must be more than 0 characters")
        elif len(value) > most:
            self.add(f"{at}/{key}", f"must be less than {most + 1} characters")

    def flag(self, owner: Payload, key: str, at: str) -> None:
        if key in owner and not isinstance(owner[key], bool):
            self.add(f"{at}/{key}", "must be a boolean")

    def whole(self, owner: Payload, key: str, at: str, *, least: int, most: int) -> None:
        """A whole number within bounds (both inclusive) when it is there."""
        value = owner.get(key)
        if value is None:
            return
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            self.add(f"{at}/{key}", f"must be a whole number from {least} to {most}")

    def text(
        self, owner: Payload, key: str, at: str, *, most: int, kinds: Sequence[str] = TEXT_KINDS, required: bool = True
    ) -> None:
        """A text object under a key: of an allowed kind, not empty, at most `most` characters."""
        value = owner.get(key)
        if value is None:
            if required:
                self.add(at, f"missing required field: {key}")
            return
        self.text_object(value, f"{at}/{key}", most=most, kinds=kinds)

    def text_object(self, value: object, at: str, *, most: int, kinds: Sequence[str] = TEXT_KINDS) -> None:
        """A text object: of an allowed kind, not empty, at most `most` characters."""
        entry = self.mapping(value, at)
        if entry is None:
            return
        kind = entry.get("type")
        if kind not in kinds:
            self.add(f"{at}/type", f"must be one of {', '.join(kinds)}, found {kind!r}")
        if kind == "plain_text" and "verbatim" in entry:
            self.add(f"{at}/verbatim", "is not allowed in plain_text")
        if kind == "mrkdwn" and "emoji" in entry:
            self.add(f"{at}/emoji", "is not allowed in mrkdwn")
        self.string(entry, "text", at, most=most, required=True)

    def unknown_fields(self, owner: Payload, allowed: frozenset[str], at: str) -> None:
        """Fields that Slack does not know on this object."""
        for key in owner:
            if key not in allowed:
                self.add(at, f"invalid additional property: {key}")
