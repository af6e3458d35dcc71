"""What the forms of a proposal's page send, and in words why it is not taken."""

from urllib.parse import parse_qs

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request

from bot.domain.errors import Refused
from bot.web.decider import Door

MOST_BYTES = 16 * 1024
MOST_CHARACTERS = 1000
"""Of a reason."""
_NEEDS_SURE = ("approve", "begin")


class DecisionForm(BaseModel):
    """What the page's forms send."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    act: Door
    digest: str = Field(min_length=1)
    token: str = ""
    reason: str = ""
    sure: str = ""


def read_form(request: Request, body: bytes) -> DecisionForm:
    """Raises Refused for what is not the page's form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        if kind != "application/x-www-form-urlencoded":
            raise ValueError(kind)
        fields = parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=20)
        return DecisionForm.model_validate({name: values[-1] for name, values in fields.items()})
    except (ValidationError, ValueError) as error:
        raise Refused(
            "This decision was not understood. Nothing was decided.",
            "Expected one of the forms of this page; found something else.",
            "Use the buttons below.",
        ) from error


def must_be_complete(form: DecisionForm) -> None:
    """Raises Refused. What the rule asks for, it says itself."""
    if form.act in _NEEDS_SURE and form.sure != "yes":
        raise Refused("Nothing was decided.", "", "Tick that you have read all of it, then press the button again.")
    if len(form.reason) > MOST_CHARACTERS:
        raise Refused(
            "That is more than fits. Nothing was decided.",
            f"Expected at most {MOST_CHARACTERS:,} characters; found {len(form.reason):,}.",
            "Say it in a sentence or two.",
        )


def elsewhere(request: Request, public_url: str | None) -> Refused:
    """It was sent from another page, or nobody knows from where."""
    origin = request.headers.get("origin")
    return Refused(
        "This did not come from the proposal's own page. Nothing was decided.",
        f"Expected a form that was sent from {public_url or 'this address'}; found "
        f"{f'one from {origin}' if origin else 'one of which nobody says where it was sent'}.",
        "Open the proposal's page and decide there. If that is what you did, `web.public_url` is not the address that "
        "your browser shows: tell the people who run this Waterline.",
    )


def too_much() -> Refused:
    """More than any of the forms can send."""
    return Refused("That is too much at once. Nothing was decided.", f"Expected at most {MOST_BYTES:,} bytes.", "")


def not_known() -> Refused:
    """By whoever may only read."""
    return Refused("Nothing was decided: who may decide here is not known of you.", "", "See below whom to ask.")


def old_form() -> Refused:
    """Its token is not that of what would be decided."""
    return Refused(
        "This form cannot be used any more. Nothing was decided.",
        "It was made for somebody else, for another content, or before Waterline was started anew.",
        "Read what is proposed below, and decide there.",
    )
