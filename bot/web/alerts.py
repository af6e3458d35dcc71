"""Where other systems tell of alerts: something is taken here and not only read, so it has keys of its own."""

import hashlib
import hmac

from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.domain.errors import CouldNotKeep, CouldNotLook
from bot.service.alerts import AlertDesk
from bot.web.access import ALERTS
from bot.web.alert_payloads import Alertmanager, PagerDuty
from bot.web.answers import problem, problem_of
from bot.web.bodies import body_of

_MOST_BYTES = 1 << 20
_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class AlertRoutes:
    """Handlers. An address whose key is not set takes nothing, and is not there."""

    def __init__(self, desk: AlertDesk, *, token: str | None, pagerduty_secret: str | None) -> None:
        self._desk = desk
        self._token = token
        self._secret = pagerduty_secret

    @property
    def kinds(self) -> tuple[str, ...]:
        """Those that have a key."""
        keys = {"alertmanager": self._token, "pagerduty": self._secret}
        return tuple(kind for kind, key in keys.items() if key is not None)

    @property
    def routes(self) -> list[Route]:
        """One for each kind."""
        answer = {"alertmanager": self._alertmanager, "pagerduty": self._pagerduty}
        return [Route(f"{ALERTS}{kind}", answer[kind], methods=["POST"]) for kind in self.kinds]

    async def _alertmanager(self, request: Request) -> Response:
        scheme, _, given = request.headers.get("authorization", "").strip().partition(" ")
        assert self._token is not None
        if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), self._token.encode()):
            return _turned_away("the alert token of this Waterline as `Authorization: Bearer …`")
        body = await body_of(request, _MOST_BYTES)
        return await self._taken(Alertmanager, body)

    async def _pagerduty(self, request: Request) -> Response:
        body = await body_of(request, _MOST_BYTES)
        assert self._secret is not None
        if body is not None and not _is_signed(body, request.headers.get("x-pagerduty-signature", ""), self._secret):
            return _turned_away("a signature in `X-PagerDuty-Signature` that fits the body")
        return await self._taken(PagerDuty, body)

    async def _taken(self, shape: type[Alertmanager | PagerDuty], body: bytes | None) -> Response:
        if body is None:
            return problem(413, "That is too much at once.", f"Expected at most {_MOST_BYTES:,} bytes.", "Send less.")
        try:
            alerts = shape.model_validate_json(body).told()
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "the body"
            return problem(
                400,
                "This is no webhook of that kind.",
                f"Expected the payload of {shape.__name__}; found at {where}: {first['msg']}.",
                "Check the address that is configured there.",
            )
        try:
            taken = await run_in_threadpool(self._desk.take, alerts)
        except (CouldNotKeep, CouldNotLook) as error:
            return problem_of(error, 503)  # it is sent again: nothing was lost
        return Response(taken.model_dump_json(), 200, _HEADERS, media_type="application/json")


def _is_signed(body: bytes, header: str, secret: str) -> bool:
    """Whether one of the signatures fits: there are several while a secret is being changed."""
    expected = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    given = [each.strip().removeprefix("v1=") for each in header.split(",") if each.strip().startswith("v1=")]
    return any(hmac.compare_digest(each.encode(), expected.encode()) for each in given)


def _turned_away(expected: str) -> Response:
    return problem(
        401,
        "This alert was not taken.",
        f"Expected {expected}; found none, or another.",
        "Give the sender the key that this Waterline was started with.",
    )
