"""Who may read: whoever has the token, or is named by a proxy that is believed. Decided before anything is read."""

import base64
import binascii
import hmac
import ipaddress
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from bot.settings import WebSettings
from bot.web.responses import problem, wants_page

_ALWAYS_OPEN = frozenset({"/livez", "/readyz"})
"""They tell nothing of any table."""
ALERTS = "/v1/alerts/"
"""Below it every handler asks for a key of its own: who may read may not send alerts, and the other way round."""


@dataclass(frozen=True)
class Access:
    web: WebSettings
    token: str | None
    """None: no token opens anything."""

    def allows(self, headers: Headers, client: str, path: str) -> bool:
        """Whether this request may be answered. `client` is the address of whoever is connected, proxy or not."""
        if path in _ALWAYS_OPEN or path.startswith(ALERTS):
            return True
        if self.token is None and self.web.identity_header is None:
            return self.web.is_loopback
        return self._has_token(headers) or self.identity(headers, client) is not None

    def _has_token(self, headers: Headers) -> bool:
        given = _token_in(headers.get("authorization", ""))
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())

    def identity(self, headers: Headers, client: str) -> str | None:
        """Whom a believed proxy names; None: nobody. Of a header that comes twice nobody knows which of them the proxy
        wrote and which whoever asked, so it names nobody."""
        given = headers.getlist(self.web.identity_header) if self.web.identity_header is not None else []
        if len(given) != 1 or not given[0].strip():
            return None
        try:
            address = ipaddress.ip_address(client)
        except ValueError:
            return None
        # A socket for both kinds of addresses calls 10.0.0.5 ::ffff:10.0.0.5.
        names = {address, getattr(address, "ipv4_mapped", None) or address}
        is_proxy = any(name in ipaddress.ip_network(proxy) for proxy in self.web.proxies for name in names)
        return given[0].strip() if is_proxy else None


class Doorkeeper:
    """ASGI middleware: asks the rule, and forbids what a browser might do with the answers of others."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, path = Headers(scope=scope), str(scope["path"])
        client = scope.get("client") or ("", 0)
        if not self._access.allows(headers, str(client[0]), path):
            await _turned_away(path)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _turned_away(path: str) -> Response:
    answer = problem(
        401,
        "You are not signed in.",
        "Expected the token of Waterline, or a request through its proxy; found neither.",
        "Ask the people who run Waterline for the token, or sign in at the proxy.",
    )
    scheme = 'Basic realm="Waterline", charset="UTF-8"' if wants_page(path) else 'Bearer realm="Waterline"'
    answer.headers["WWW-Authenticate"] = scheme
    return answer


def _token_in(authorization: str) -> str:
    """Of `Bearer TOKEN`, or the password of `Basic …`: what a browser sends after it has asked. Empty if neither."""
    scheme, _, value = authorization.strip().partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(value, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""
