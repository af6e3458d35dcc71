"""What the page, the actors and the control API send: one frozen record per request."""

from pydantic import BaseModel, ConfigDict, Field

from bot.workspace.persons.clicks import Chosen, Click
from bot.workspace.persons.forms import RawValues


class _Request(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Say(_Request):
    """A person types a text, which may be a slash command, and presses Enter."""

    person: str
    channel: str
    text: str
    thread_ts: str | None = None


class ClickAt(_Request):
    """A person clicks or chooses."""

    person: str
    at: Click


class ChooseShortcut(_Request):
    """A person chooses a shortcut in a message's menu."""

    person: str
    at: Chosen


class SubmitView(_Request):
    """A person submits a modal."""

    person: str
    view_id: str
    values: RawValues = {}


class CloseView(_Request):
    """A person closes a modal, or all of them."""

    person: str
    view_id: str
    whole_stack: bool = False


class React(_Request):
    """A person adds a reaction or takes it back."""

    person: str
    channel: str
    ts: str
    name: str


class Here(_Request):
    """A person looks at a channel, or at the app's Home when there is none."""

    person: str
    channel: str | None = None


class FaultRequest(_Request):
    """One fault; which fields count depends on its name."""

    method: str | None = None
    times: int = Field(default=1, ge=1)
    error: str = "internal_error"
    seconds: float = Field(default=1.0, ge=0)
    reason: str = "refresh_requested"
    channel: str = ""
    member: str = ""
    ts: str = ""
    text: str = ""
