"""Whether a form comes from our own page, and was made there for this person and this content.

A browser says where a request comes from, and no page elsewhere can have it say otherwise; the token in the form says
for whom it was made. One alone would do; both have to hold.
"""

import base64
import hashlib
import hmac
import json
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers

_CONTEXT = b"waterline form of a decision, form 1\n"
_PORTS = {"http": 80, "https": 443}


class OwnForms:
    """Signs forms and knows them again. The first secret signs, each of them is taken."""

    def __init__(self, secrets: tuple[bytes, ...], public_url: str | None) -> None:
        """`public_url`: as browsers see these pages; None: whatever host they name."""
        self._secrets = secrets
        self._public_url = public_url

    def token(self, *bound_to: str) -> str:
        """What a form carries that was made for exactly this."""
        return _signed(self._secrets[0], bound_to)

    def made(self, token: str, *bound_to: str) -> bool:
        """Whether the token is that of a form which was made for exactly this."""
        return any(hmac.compare_digest(token.encode(), _signed(each, bound_to).encode()) for each in self._secrets)

    def sent(self, headers: Headers) -> bool:
        """Whether a browser says that the form was sent from our own page; one that says nothing is not believed."""
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if site is None and origin is None:
            return False
        is_elsewhere = site is not None and site != "same-origin"
        return not is_elsewhere and (origin is None or self._is_ours(origin, headers.get("host", "")))

    def _is_ours(self, origin: str, host: str) -> bool:
        """Without `public_url` the scheme is not known here: a proxy may have taken the encryption off."""
        try:
            theirs = urlsplit(origin)
            ours = urlsplit(self._public_url or f"{theirs.scheme}://{host}")
            return bool(theirs.hostname) and _place(theirs) == _place(ours)
        except ValueError:
            return False


def _place(url: SplitResult) -> tuple[str, str | None, int | None]:
    return url.scheme, url.hostname, url.port or _PORTS.get(url.scheme)


def _signed(secret: bytes, bound_to: tuple[str, ...]) -> str:
    told = _CONTEXT + json.dumps(bound_to).encode()
    return base64.urlsafe_b64encode(hmac.new(secret, told, hashlib.sha256).digest()).decode().rstrip("=")
