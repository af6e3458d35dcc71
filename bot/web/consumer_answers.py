"""The page behind the link in mails and webhooks: what this consumer was told, and its answers. Only POST answers."""

from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs

from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.domain.errors import CouldNotKeep, CouldNotLook, JournalMoved, Refused, WaterlineError
from bot.domain.notice import Answer
from bot.domain.record import Record
from bot.notices.answer_link import ANSWERS, BadLink, OldLink
from bot.notices.forms import as_fragment, headline
from bot.service.answer_desk import MOST_CHARACTERS, AnswerDesk, Asked
from bot.service.answering import AlreadySaid
from bot.web.answers import form_page, problem, problem_of, unkept
from bot.web.bodies import body_of
from bot.web.pages import environment

_MOST_BYTES = 16 * 1024


class _Said(BaseModel):
    """What a form or a program sends."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    answer: Answer
    text: str = ""
    notice: int | None = Field(default=None, ge=1)


class Noted(Record):
    """What a program is answered."""

    noted: Literal[True] = True
    detail: str


class ConsumerAnswers:
    """Handlers. The token stands in the address only: neither in the page nor in a log."""

    def __init__(self, desk: AnswerDesk, content: Path) -> None:
        """`content`: the folder of the record's templates, whose style the page shares."""
        self._desk = desk
        self._templates = environment(content)

    @property
    def routes(self) -> list[Route]:
        """One address, for looking and for answering."""
        return [
            Route(f"{ANSWERS}{{token}}", self._look, methods=["GET"]),
            Route(f"{ANSWERS}{{token}}", self._answer, methods=["POST"]),
        ]

    def _look(self, request: Request) -> Response:
        try:
            return self._page(self._desk.look(request.path_params["token"]))
        except (BadLink, OldLink, CouldNotLook, CouldNotKeep) as error:
            return self._refused(request, error)

    async def _answer(self, request: Request) -> Response:
        body = await body_of(request, _MOST_BYTES)
        if body is None:
            return problem(413, "That is too much at once.", f"Expected at most {_MOST_BYTES:,} bytes.", "Send less.")
        return await run_in_threadpool(self._noted, request, body)

    def _noted(self, request: Request, body: bytes) -> Response:
        """A browser is sent to look again, so that loading anew answers nothing a second time: by the last part of the
        path alone, as a proxy may hold the pages below a path that is not seen here."""
        token, said = str(request.path_params["token"]), None
        try:
            said = _read(request, body)
            noted = self._desk.answer(token, said.answer, text=said.text, seq=said.notice)
        except AlreadySaid as error:
            noted = error.happened
        except (Refused, BadLink, OldLink, CouldNotLook, CouldNotKeep, JournalMoved) as error:
            return self._refused(request, error, said)
        if _is_program(request):
            return unkept(Response(Noted(detail=noted).model_dump_json(), media_type="application/json"))
        return unkept(Response(status_code=303, headers={"Location": token}))

    def _refused(self, request: Request, error: WaterlineError, said: _Said | None = None) -> Response:
        """In words; where the link is good, above the same page, with what they had typed."""
        status = _status(error)
        if _is_program(request):
            return problem_of(error, status)
        if isinstance(error, Refused):
            try:
                asked = self._desk.look(request.path_params["token"])
            except (BadLink, OldLink, CouldNotLook, CouldNotKeep) as worse:
                return self._refused(request, worse)
            return self._page(asked, status, problem=error, typed=said.text if said is not None else "")
        return form_page(self._templates.get_template("no_answer.html.j2").render(error=error), status)

    def _page(
        self, asked: Asked, status: int = 200, *, problem: WaterlineError | None = None, typed: str = ""
    ) -> Response:
        shown = self._templates.get_template("answer.html.j2").render(
            asked=asked,
            view=asked.newest,
            said=asked.said(asked.newest),
            problem=problem,
            typed=typed,
            most=MOST_CHARACTERS,
            title=headline(asked.newest.notice.text),
            rest=lambda view: _shown(view.notice.text.partition("\n")[2]),
            told=lambda view: _shown(view.notice.text),
        )
        return form_page(shown, status)


def _shown(text: str) -> Markup:
    """A notice's text as HTML: what others wrote in it is text there."""
    return Markup(as_fragment(text))  # noqa: S704 - no HTML in it is let through


def _status(error: WaterlineError) -> int:
    match error:
        case BadLink():
            return 404
        case OldLink():
            return 410
        case Refused():
            return 422
        case _:
            return 503


def _read(request: Request, body: bytes) -> _Said:
    """What was said, and to which notice: the one that it names itself, else the one in the address. Raises Refused for
    what is neither the page's form nor the JSON that a webhook may be answered with."""
    try:
        if _is_program(request):
            said = _Said.model_validate_json(body)
        else:
            fields = parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=20)
            said = _Said.model_validate({name: values[-1] for name, values in fields.items()})
        to = request.query_params.get("notice")
        if said.notice is not None or to is None:
            return said
        return _Said.model_validate(said.model_dump() | {"notice": to})
    except (ValidationError, ValueError) as error:
        raise Refused(
            "This answer was not understood. Nothing was noted.",
            "Expected `answer` to be acknowledged, re-ran or needs-help, and a notice's number; found something else.",
            "Open the link again and use one of the buttons; a program posts to the address as it was sent.",
        ) from error


def _is_program(request: Request) -> bool:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"
