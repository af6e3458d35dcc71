"""Block Kit as strict as Slack: what a message or a view may contain, and what is said when it may not.

Limits come from Slack's Block Kit reference; the official Python models miss several of them
(a field above 2000 characters, equal action ids, a table's size, 51 blocks, the sum of all text).
Of Slack's blocks and elements those that the bot uses; any other is refused as unknown.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from bot.workspace.people import Payload, SlackRefusal


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Plain(_Part):
    type: Literal["plain_text"]
    text: str = Field(min_length=1)
    emoji: bool = True


class Mrkdwn(_Part):
    type: Literal["mrkdwn"]
    text: str = Field(min_length=1)
    verbatim: bool = False


Text = Annotated[Plain | Mrkdwn, Field(discriminator="type")]
Id = Annotated[str, Field(max_length=255)]
Style = Literal["primary", "danger"]
_LONG_TEXT = "long_text"


def _at_most(most: int) -> AfterValidator:
    """Of a text object, so many characters."""

    def check(value: Plain | Mrkdwn) -> Plain | Mrkdwn:
        if len(value.text) > most:
            raise PydanticCustomError(_LONG_TEXT, "must be less than {limit} characters", {"limit": most + 1})
        return value

    return AfterValidator(check)


def _unique(values: Iterable[str | None], where: str) -> None:
    counts = Counter(value for value in values if value is not None)
    for value, times in counts.items():
        if times > 1:
            raise PydanticCustomError("twice", f"must be unique{where}, found {value!r} twice")


class Confirm(_Part):
    title: Annotated[Plain, _at_most(100)]
    text: Annotated[Text, _at_most(300)]
    confirm: Annotated[Plain, _at_most(30)]
    deny: Annotated[Plain, _at_most(30)]
    style: Style | None = None


class _Option(_Part):
    value: str = Field(min_length=1, max_length=150)


class Option(_Option):
    text: Annotated[Plain, _at_most(75)]
    description: Annotated[Plain, _at_most(75)] | None = None


class RichOption(_Option):
    """Of checkboxes, whose text may be formatted."""

    text: Annotated[Text, _at_most(75)]
    description: Annotated[Text, _at_most(75)] | None = None


class _Element(_Part):
    action_id: Id | None = None
    focus_on_load: bool = False


class _WithConfirm(_Element):
    confirm: Confirm | None = None


class _WithPlaceholder(_Element):
    placeholder: Annotated[Plain, _at_most(150)] | None = None


def _check_options(options: Sequence[_Option], initial: Sequence[_Option]) -> None:
    """No two have one value, and what is chosen from the start is offered."""
    _unique((option.value for option in options), "")
    if any(option not in options for option in initial):
        raise PydanticCustomError("not_offered", "must equal one of the options")


class Button(_WithConfirm):
    type: Literal["button"]
    text: Annotated[Plain, _at_most(75)]
    value: str | None = Field(default=None, max_length=2000)
    style: Style | None = None


class StaticSelect(_WithConfirm, _WithPlaceholder):
    type: Literal["static_select"]
    options: list[Option] = Field(min_length=1, max_length=100)
    initial_option: Option | None = None

    @model_validator(mode="after")
    def check_options(self) -> Self:
        _check_options(self.options, [] if self.initial_option is None else [self.initial_option])
        return self


class UsersSelect(_WithConfirm, _WithPlaceholder):
    type: Literal["users_select"]
    initial_user: str | None = None


class DatePicker(_WithConfirm, _WithPlaceholder):
    type: Literal["datepicker"]
    initial_date: str | None = None


class Checkboxes(_WithConfirm):
    type: Literal["checkboxes"]
    options: list[RichOption] = Field(min_length=1, max_length=10)
    initial_options: list[RichOption] | None = None

    @model_validator(mode="after")
    def check_options(self) -> Self:
        _check_options(self.options, self.initial_options or [])
        return self


class PlainTextInput(_WithPlaceholder):
    type: Literal["plain_text_input"]
    initial_value: str | None = Field(default=None, max_length=3000)
    multiline: bool = False
    max_length: int | None = Field(default=None, ge=1, le=3000)


FilledIn = Annotated[StaticSelect | UsersSelect | DatePicker | Checkboxes | PlainTextInput, Field(discriminator="type")]
"""For inputs; a button stands in a row of actions, or beside a section."""


class _Block(_Part):
    block_id: Id | None = None


class Section(_Block):
    type: Literal["section"]
    text: Annotated[Text, _at_most(3000)] | None = None
    fields: list[Annotated[Text, _at_most(2000)]] | None = Field(default=None, min_length=1, max_length=10)
    accessory: Button | None = None
    expand: bool = False

    @model_validator(mode="after")
    def check_content(self) -> Self:
        if self.text is None and self.fields is None:
            raise PydanticCustomError("empty", "must have text or fields")
        return self


class Header(_Block):
    type: Literal["header"]
    text: Annotated[Plain, _at_most(150)]
    level: int | None = None


class Divider(_Block):
    type: Literal["divider"]


class Actions(_Block):
    type: Literal["actions"]
    elements: list[Button] = Field(min_length=1, max_length=25)

    @model_validator(mode="after")
    def check_ids(self) -> Self:
        _unique((element.action_id for element in self.elements), " in its block")
        return self


class Context(_Block):
    type: Literal["context"]
    elements: list[Annotated[Text, _at_most(3000)]] = Field(min_length=1, max_length=10)


class Input(_Block):
    type: Literal["input"]
    label: Annotated[Plain, _at_most(2000)]
    element: FilledIn
    hint: Annotated[Plain, _at_most(2000)] | None = None
    optional: bool = False


TABLE_CHARACTERS = 10_000


class Cell(_Part):
    type: Literal["raw_text"]
    text: str = Field(min_length=1, max_length=TABLE_CHARACTERS)


class Column(_Part):
    align: Literal["left", "center", "right"] = "left"
    is_wrapped: bool = False


class Table(_Block):
    """At most 100 rows of 20 cells, rows of equal length; how many characters in all, see `_check_sums`."""

    type: Literal["table"]
    rows: list[Annotated[list[Cell], Field(min_length=1, max_length=20)]] = Field(min_length=1, max_length=100)
    column_settings: list[Column] | None = Field(default=None, max_length=20)

    @model_validator(mode="after")
    def check_cells(self) -> Self:
        if any(len(row) != len(self.rows[0]) for row in self.rows):
            raise PydanticCustomError("ragged", "must have as many cells as the first row")
        return self


class Container(_Block):
    """What Slack's own check takes in it, but for buttons: a reader must see them without opening anything."""

    type: Literal["container"]
    title: Annotated[Plain, _at_most(150)]
    child_blocks: list[Annotated[Section | Header | Divider | Context | Table, Field(discriminator="type")]] = Field(
        min_length=1, max_length=10
    )
    is_collapsible: bool = False
    default_collapsed: bool = False

    @model_validator(mode="after")
    def check_folding(self) -> Self:
        if self.default_collapsed and not self.is_collapsible:
            raise PydanticCustomError("not_collapsible", "default_collapsed requires is_collapsible")
        return self


B = TypeVar("B", bound=_Block)


def _with_ids_of_their_own(blocks: list[B]) -> list[B]:
    _unique((block.block_id for block in blocks), "")
    return blocks


ViewBlock = Annotated[Section | Header | Divider | Actions | Context | Input, Field(discriminator="type")]
MessageBlock = Annotated[
    Section | Header | Divider | Actions | Context | Input | Table | Container, Field(discriminator="type")
]
_MESSAGE: TypeAdapter[list[MessageBlock]] = TypeAdapter(
    Annotated[list[MessageBlock], Field(max_length=50), AfterValidator(_with_ids_of_their_own)]
)


class _View(_Part):
    blocks: Annotated[list[ViewBlock], Field(max_length=100), AfterValidator(_with_ids_of_their_own)]
    private_metadata: str | None = Field(default=None, max_length=3000)
    callback_id: Id | None = None
    external_id: Id | None = None


class Home(_View):
    type: Literal["home"]


class Modal(_View):
    type: Literal["modal"]
    title: Annotated[Plain, _at_most(24)]
    submit: Annotated[Plain, _at_most(24)] | None = None
    close: Annotated[Plain, _at_most(24)] | None = None

    @model_validator(mode="after")
    def check_submit(self) -> Self:
        if self.submit is None and any(isinstance(block, Input) for block in self.blocks):
            message = "missing required field: submit, which a view with input blocks needs"
            raise PydanticCustomError("no_submit", message)
        return self


_VIEWS: dict[str, TypeAdapter[Home] | TypeAdapter[Modal]] = {"home": TypeAdapter(Home), "modal": TypeAdapter(Modal)}
VIEW_BYTES = 250_000


def check_view(view: object, *, kind: str) -> Payload:
    """The view, when Slack would take it on that surface (`modal` or `home`); raises SlackRefusal otherwise."""
    if not isinstance(view, dict):
        raise SlackRefusal("invalid_arguments", ["must be an object [json-pointer:/view]"])
    if len(json.dumps(view)) > VIEW_BYTES:
        raise SlackRefusal("view_too_large")
    try:
        _VIEWS[kind].validate_python(view)
    except ValidationError as error:
        raise SlackRefusal("invalid_arguments", [_in_words(each, "/view") for each in error.errors()]) from None
    return view


TOTAL_CHARACTERS = 12_000
BLOCK_OVERHEAD = 20
"""Slack's undocumented sum (slackapi/bolt-js#2509, #2867) counts containers too; this stands for each of them."""

_TEXT_KEYS = ("text", "title", "label", "hint", "placeholder", "description")


def check_message(blocks: object) -> None:
    """Raises SlackRefusal when Slack would refuse these blocks in a message."""
    if not isinstance(blocks, list):
        raise SlackRefusal("invalid_blocks_format")
    try:
        _MESSAGE.validate_python(blocks)
    except ValidationError as error:
        raise SlackRefusal("invalid_blocks", [_in_words(each, "/blocks") for each in error.errors()]) from None
    _check_sums(blocks)


def _check_sums(blocks: list[Payload]) -> None:
    tables = [block for block in blocks if block["type"] == "table"]
    if len(tables) > 1:
        raise SlackRefusal("invalid_attachments", ["only_one_table_allowed"])
    if sum(map(characters, tables)) > TABLE_CHARACTERS:
        place = "[json-pointer:/blocks]"
        raise SlackRefusal("invalid_blocks", [f"table must be less than {TABLE_CHARACTERS + 1} characters {place}"])
    others = [block for block in blocks if block["type"] != "table"]
    if sum(characters(block) + BLOCK_OVERHEAD for block in others) > TOTAL_CHARACTERS:
        raise SlackRefusal("msg_blocks_too_long")


def characters(value: object) -> int:
    """How many characters a person would read in a block, with everything nested in it."""
    if isinstance(value, dict):
        return sum(
            len(inner) if isinstance(inner, str) and key in _TEXT_KEYS else characters(inner)
            for key, inner in value.items()
            if not isinstance(inner, str) or key in _TEXT_KEYS
        )
    if isinstance(value, Iterable) and not isinstance(value, str):
        return sum(characters(inner) for inner in value)
    return 0


_SLACK_SAYS = {
    "missing": "missing required field: {name}",
    "extra_forbidden": "invalid additional property: {name}",
    "union_tag_invalid": "unsupported type: {tag}",
    "literal_error": "must be one of {expected}",
    "string_too_short": "must be more than 0 characters",
    "string_too_long": "must be at most {max_length} characters",
    "too_long": "no more than {max_length} items allowed",
}
_TAGS = {
    "plain_text", "mrkdwn", "section", "header", "divider", "actions", "context", "input", "table", "container",
    "static_select", "users_select", "datepicker", "checkboxes", "plain_text_input",
}  # fmt: skip
"""What pydantic puts into the place of an error for each union, and Slack does not."""


def _in_words(error: ErrorDetails, root: str) -> str:
    """As Slack says it, with the place."""
    place = [str(part) for part in error["loc"] if part not in _TAGS]
    name = place.pop() if error["type"] in ("missing", "extra_forbidden") else ""
    if error["type"] == _LONG_TEXT:
        place.append("text")
    context = {key: str(value).replace("'", "").replace(" or ", ", ") for key, value in error.get("ctx", {}).items()}
    said = _SLACK_SAYS[error["type"]].format(name=name, **context) if error["type"] in _SLACK_SAYS else error["msg"]
    return f"{said} [json-pointer:{'/'.join((root, *place))}]"
