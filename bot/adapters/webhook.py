"""Notices as signed JSON over HTTP, for jobs and agents. Signed as Standard Webhooks has it: its libraries verify it.

`webhook-id` is the same for each try, `webhook-timestamp` is now, and `webhook-signature` holds `v1,` and the base64 of
the HMAC-SHA256 over `id.timestamp.body`, once for each secret. Redirects are not followed.
"""

import asyncio
import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping

import httpx
from pydantic import Field

from bot.domain.errors import BadConfiguration, NotDelivered
from bot.domain.notice import Address, NoticeData
from bot.domain.record import Record, Utc
from bot.notices.forms import as_markdown, headline
from bot.ports.carriers import Parcel, Receipt

_AGAIN = frozenset({408, 409, 425, 429})


class NoticePayload(Record):
    """The body of a notice."""

    type: str = Field(description="Always `waterline.notice`.", examples=["waterline.notice"])
    id: str = Field(description="The same for each try to deliver this notice: count it once.")
    incident: str = Field(examples=["wl-12"])
    table: str = Field(examples=["sales.orders"])
    consumer: str = Field(description="Who is told, as the configuration names it.", examples=["revenue_daily"])
    kind: str = Field(description="Which notice it is; `docs/notices.md` lists them.", examples=["recovered"])
    revision: int = Field(ge=1, description="Counts the notices of this kind to this consumer.")
    severity: str | None = Field(examples=["sev2"])
    tried_at: Utc = Field(description="When this try was made, in UTC.")
    may_be_repeated: bool = Field(description="Whether an earlier try may have arrived unnoticed.")
    headline: str = Field(description="The first sentence.")
    markdown: str = Field(description="The whole notice, the same words as in Slack and in mails.")
    data: NoticeData | None = Field(description="The facts to act on.")


class Webhook:
    """Sends to any address with the same secrets. The record has the host of an address and the status code of an
    answer; its body is not read."""

    def __init__(
        self, secrets: tuple[bytes, ...], addresses: Mapping[str, str] | None = None, *, limit_s: float = 15.0
    ) -> None:
        """`addresses`: name of a webhook, as the record has it -> URL. `limit_s`: of one try from its first byte to the
        status line, however slowly the receiver answers."""
        self._secrets = secrets
        self._addresses = addresses or {}
        self._limit_s = limit_s

    def carry(self, parcel: Parcel) -> Receipt:
        """See the port. Anything but 2xx did not arrive; most 4xx never will."""
        url, host = self._url(parcel.address), parcel.address.shown
        body = payload_of(parcel).model_dump_json().encode()
        stamp = str(int(parcel.at.timestamp()))
        headers = {
            "content-type": "application/json",
            "user-agent": "waterline",
            "idempotency-key": parcel.key,
            "webhook-id": parcel.key,
            "webhook-timestamp": stamp,
            "webhook-signature": " ".join(signature(secret, parcel.key, stamp, body) for secret in self._secrets),
        }
        try:
            status = asyncio.run(self._status(url, body, headers))
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise NotDelivered(f"The address at {host} is not a URL: {type(error).__name__}.") from error
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise NotDelivered(f"{host} cannot be reached: {type(error).__name__}: {error}.") from error
        except TimeoutError as error:
            raise NotDelivered(f"{host} did not answer within {self._limit_s:g} s.", may_be_there=True) from error
        except httpx.HTTPError as error:
            raise NotDelivered(f"{host} did not answer: {type(error).__name__}.", may_be_there=True) from error
        if not 200 <= status < 300:
            is_final = 400 <= status < 500 and status not in _AGAIN
            raise NotDelivered(f"{host} answered HTTP {status}.", is_final=is_final)
        return Receipt(detail=f"{host} answered HTTP {status}.")

    async def _status(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        """The status code. Raises TimeoutError when the whole try takes longer than the limit: httpx limits each read
        only, and a receiver may send a byte now and then for ever."""
        limits = httpx.Timeout(self._limit_s, connect=5.0)
        async with (
            asyncio.timeout(self._limit_s),
            httpx.AsyncClient(timeout=limits, follow_redirects=False, trust_env=False) as http,
            http.stream("POST", url, content=body, headers=headers) as answer,
        ):
            return answer.status_code

    def _url(self, address: Address) -> str:
        known = self._addresses.get(address.to)
        if known is None and " " in address.to:
            raise NotDelivered(
                f"The settings have no such address any more at {address.shown}. It was changed since this notice was "
                "made: preview the notice again, or call them.",
                is_final=True,
            )
        return known or address.to


def payload_of(parcel: Parcel) -> NoticePayload:
    """What is sent: the words of the preview, and the facts beside them."""
    notice = parcel.notice
    return NoticePayload(
        type="waterline.notice",
        id=parcel.key,
        incident=parcel.incident,
        table=parcel.table,
        consumer=notice.consumer,
        kind=notice.kind,
        revision=notice.revision,
        severity=notice.severity,
        tried_at=parcel.at,
        may_be_repeated=parcel.may_be_there,
        headline=headline(notice.text),
        markdown=as_markdown(notice.text),
        data=notice.data,
    )


def signature(secret: bytes, key: str, stamp: str, body: bytes) -> str:
    """`v1,` and base64 of the HMAC-SHA256 over `id.timestamp.body`."""
    digest = hmac.new(secret, f"{key}.{stamp}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def secrets_in(text: str) -> tuple[bytes, ...]:
    """The keys in `whsec_…`, several of them with spaces between while one takes the other's place. Raises
    BadConfiguration, which quotes none."""
    found = []
    for each in text.split():
        try:
            key = base64.b64decode(each.removeprefix("whsec_"), validate=True)
        except binascii.Error:
            key = b""
        if not each.startswith("whsec_") or len(key) < 24:
            raise BadConfiguration(
                "The secret WATERLINE_WEBHOOK_SECRET cannot be used.",
                "Expected `whsec_` and the base64 of at least 24 random bytes; found something else.",
                "Make one: echo whsec_$(openssl rand -base64 32).",
            )
        found.append(key)
    return tuple(found)
