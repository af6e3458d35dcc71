"""The link by which a consumer answers without Slack: signed, with an end. Pure.

Whoever has it may answer for this consumer of this incident, and nothing else. So it stands in what is sent to them,
and nowhere else.
"""

import base64
import binascii
import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bot.domain.errors import BadConfiguration, WaterlineError
from bot.domain.ids import IncidentId

ANSWERS = "/answer/"
"""Below it a page takes answers; what follows is the token."""
_CONTEXT = b"waterline answer link, form 1\n"
_FEWEST_CHARACTERS = 32
_PREFIX = 12
"""So many characters of a token tell it from any other text."""


class BadLink(WaterlineError):
    """The address is none that was sent: cut short, changed, made up, or signed with a secret that was taken back."""


class OldLink(WaterlineError):
    """It was sent, and is not taken any more."""


@dataclass(frozen=True)
class Claim:
    """For whom a link answers, and until when (exclusive)."""

    incident: IncidentId
    consumer: str
    until: datetime


@dataclass(frozen=True)
class AnswerLink:
    """One link, as it is sent. `repr` does not show it."""

    base: str
    token: str

    def __repr__(self) -> str:
        return "AnswerLink(…)"

    @property
    def url(self) -> str:
        """The whole address."""
        return f"{self.base}{ANSWERS}{self.token}"

    def to_notice(self, seq: int) -> str:
        """The address at which a program answers that notice, whatever has been told since; entry `seq` queued it."""
        return f"{self.url}?notice={seq}"

    def sent_by(self, way: str, seq: int) -> str:
        """The address that goes along by that way: a program answers what it was sent; a person sees the newest first,
        and the page says which is answered."""
        return self.to_notice(seq) if way == "webhook" else self.url

    def hidden_in(self, text: str) -> str:
        """The text without the link, also where it is cut short: mail servers and receivers quote what they got."""
        return re.sub(re.escape(self.token[:_PREFIX]) + r"[\w.-]*", "…", text)


class AnswerLinks:
    """Makes links and reads them. The first secret signs, each of them is taken."""

    def __init__(self, secrets: tuple[bytes, ...], base: str, within: timedelta) -> None:
        """`base`: the address under which consumers reach the pages. `within`: how long a notice can be answered."""
        self._secrets = secrets
        self._base = base.rstrip("/")
        self._within = within

    def of(self, incident: IncidentId, consumer: str, told_at: datetime) -> AnswerLink:
        """The link in a notice that was queued at `told_at`: the same for each try to bring it."""
        until = int((told_at + self._within).timestamp())
        claim = f"{until}/{incident}/{consumer}".encode()
        return AnswerLink(self._base, f"{_text(claim)}.{_text(_signature(self._secrets[0], claim))}")

    def read(self, token: str, now: datetime) -> Claim:
        """Whose it is. Raises BadLink, OldLink."""
        claim = self._signed(token)
        if claim is None:
            raise BadLink(
                "This link cannot be used.",
                "Expected the address exactly as it stands in the notice; found one that was cut short or changed.",
                "Copy the whole address from the notice, or answer in the incident's channel.",
            )
        until, incident, consumer = claim.decode().split("/", 2)
        found = Claim(IncidentId(incident), consumer, datetime.fromtimestamp(int(until), tz=UTC))
        if now >= found.until:
            raise OldLink(
                "This link has expired.",
                f"It was taken until {found.until:%-d %b %Y, %H:%M} UTC.",
                "Use the link in a newer notice, or tell the responders in the incident's channel.",
            )
        return found

    def _signed(self, token: str) -> bytes | None:
        """What was signed; None unless one of the secrets signed exactly this."""
        told, _, given = token.partition(".")
        try:
            claim, signature = _bytes(told), _bytes(given)
        except (ValueError, binascii.Error):
            return None
        is_ours = any(hmac.compare_digest(signature, _signature(secret, claim)) for secret in self._secrets)
        return claim if is_ours and token == f"{_text(claim)}.{_text(signature)}" else None


def link_secrets(text: str) -> tuple[bytes, ...]:
    """The secrets in a setting, several with spaces between while one takes the other's place. Raises BadConfiguration,
    which quotes none."""
    found = tuple(each.encode() for each in text.split())
    if not found or min(len(each) for each in found) < _FEWEST_CHARACTERS:
        raise BadConfiguration(
            "The secret WATERLINE_ANSWER_SECRET cannot be used.",
            f"Expected at least {_FEWEST_CHARACTERS} random characters; found fewer.",
            "Make one: openssl rand -base64 32.",
        )
    return found


def _signature(secret: bytes, claim: bytes) -> bytes:
    return hmac.new(secret, _CONTEXT + claim, hashlib.sha256).digest()


def _text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
