"""How notices reach consumers beside Slack: Markdown files in a folder, e-mail, signed webhooks.

`webhook-id` is the same for each try, `webhook-timestamp` is now, and `webhook-signature` holds `v1,` and the base64 of
the HMAC-SHA256 over `id.timestamp.body`, once for each secret. Redirects are not followed.
"""

import base64
import binascii
import hashlib
import hmac
import os
import re
import smtplib
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path

import httpx
from pydantic import Field

from bot.adapters.http import Logins
from bot.incident.notice import NoticeData
from bot.notices.forms import TAKES_NO_ANSWER, as_html, as_markdown, as_plain, headline
from bot.observation.errors import BadConfiguration, NotDelivered
from bot.observation.readers import Address
from bot.observation.record import Record, Utc
from bot.ports import DeliveryResult, NoticeDelivery
from bot.settings import SmtpSettings

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class NoticeFiles:
    """One file a notice, by a name that follows from it: written again it is the same file."""

    def send(self, outgoing: NoticeDelivery) -> DeliveryResult:
        """See the port. The file appears whole, or not at all."""
        notice = outgoing.notice
        folder = Path(outgoing.address.to)
        named = f"{outgoing.incident}-{notice.kind}-{notice.consumer}-{notice.revision}-{outgoing.key}"
        name = _UNSAFE.sub("-", named).lstrip(".-")
        path, unfinished = folder / f"{name}.md", folder / f".{name}.new"
        head = (
            f"---\nincident: {outgoing.incident}\ntable: {outgoing.table}\nkind: {notice.kind}\n"
            f"consumer: {notice.consumer!r}\nrevision: {notice.revision}\nat: {outgoing.at:%Y-%m-%dT%H:%M:%SZ}\n---\n\n"
        )
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with unfinished.open("w", encoding="utf-8") as file:
                file.write(f"{head}{as_markdown(notice.text)}\n{TAKES_NO_ANSWER}\n")
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)
        except OSError as error:
            raise NotDelivered(
                f"The file {path} could not be written: {type(error).__name__}: {error.strerror}."
            ) from error
        return DeliveryResult(detail=f"Written to {path}.")


_TWICE = "Sending this was interrupted, so it may have come twice. It counts once."


class Smtp:
    """One mail server. A connection a message: notices are rare, and a kept one is stale when it is needed."""

    def __init__(self, settings: SmtpSettings, password: str = "") -> None:
        """Its `timeout` is of one try, however slowly the server answers."""
        self._settings = settings
        self._password = password

    def send(self, outgoing: NoticeDelivery) -> DeliveryResult:
        """See the port. The Message-ID is the same for each try: mailboxes that know it keep one."""
        host, port, limit_s = self._settings.host, self._settings.port, self._settings.timeout.total_seconds()
        message = mail_of(outgoing, self._settings.sender)
        server: smtplib.SMTP = (
            smtplib.SMTP_SSL(timeout=limit_s, context=ssl.create_default_context())
            if self._settings.security == "tls"
            else smtplib.SMTP(timeout=limit_s)
        )
        is_begun = False
        with _hung_up_after(limit_s, server):
            try:
                self._connect(server)
                is_begun = True
                server.send_message(message)
            except smtplib.SMTPRecipientsRefused as refused:
                code, said = next(iter(refused.recipients.values()))
                raise self._refused(outgoing, code, said) from refused
            except smtplib.SMTPResponseException as refused:
                raise self._refused(outgoing, refused.smtp_code, refused.smtp_error) from refused
            except (smtplib.SMTPException, OSError) as error:
                raise NotDelivered(
                    f"The mail server {host}:{port} did not take it: {type(error).__name__}: {error}.",
                    may_be_there=is_begun,
                ) from error
            finally:
                _left(server)
        return DeliveryResult(detail=f"The mail server {host} took it, Message-ID {message['Message-ID']}.")

    def _connect(self, server: smtplib.SMTP) -> None:
        to = self._settings
        server._host = to.host  # type: ignore[attr-defined]  # what a certificate is checked against
        server.connect(to.host, to.port)
        if to.security == "starttls":
            server.starttls(context=ssl.create_default_context())
        if to.user is not None:
            server.login(to.user, self._password)

    def _refused(self, outgoing: NoticeDelivery, code: int, said: bytes | str) -> NotDelivered:
        """5xx is for good, except where the server refuses us and not the message: somebody mends that."""
        text = said.decode(errors="replace") if isinstance(said, bytes) else said
        server = f"{self._settings.host}:{self._settings.port}"
        is_final = 500 <= code < 600 and code not in {530, 534, 535, 538}
        return NotDelivered(
            f"The mail server {server} refused it for {outgoing.address.to}: {code} {text}.",
            is_final=is_final,
        )


@contextmanager
def _hung_up_after(limit_s: float, server: smtplib.SMTP) -> Iterator[None]:
    """Closes the connection when the whole try takes longer than the limit: smtplib limits each read only, and a server
    may send a byte now and then for ever."""
    ended = threading.Event()

    def watch() -> None:
        wait_s = limit_s
        while not ended.wait(wait_s):
            wait_s = 1.0
            if server.sock is not None:
                with suppress(OSError):
                    socket.socket.shutdown(server.sock, socket.SHUT_RDWR)

    threading.Thread(target=watch, name="mail-limit", daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _left(server: smtplib.SMTP) -> None:
    try:
        server.quit()
    except (smtplib.SMTPException, OSError):
        server.close()


def mail_of(outgoing: NoticeDelivery, sender: str) -> EmailMessage:
    """The message of a parcel: the same for each try, but for its date and the note that it may have come twice."""
    notice = outgoing.notice
    message = EmailMessage()
    message["From"] = sender
    message["To"] = outgoing.address.to
    subject = headline(notice.text)
    message["Subject"] = f"[{outgoing.incident}] {subject}"[:200]
    message["Date"] = format_datetime(outgoing.at)
    message["Message-ID"] = f"<{outgoing.key}@{_host_of(sender)}>"
    message["References"] = f"<{outgoing.incident}.{_UNSAFE.sub('-', notice.consumer)}@{_host_of(sender)}>"
    message["Auto-Submitted"] = "auto-generated"
    message["X-Waterline-Notice"] = notice.key(outgoing.incident)
    text = f"{notice.text}\n\n{_TWICE}" if outgoing.may_be_there else notice.text
    message.set_content(f"{as_plain(text)}\n{TAKES_NO_ANSWER}\n")
    message.add_alternative(as_html(text), subtype="html")
    return message


def _host_of(sender: str) -> str:
    host = sender.rpartition("@")[2].rstrip(">").strip()
    return host if host.isascii() and host else socket.gethostname()


_AGAIN = frozenset({408, 409, 425, 429})


class NoticePayload(Record):
    """The body of a notice."""

    type: str = Field(description="Always `waterline.notice`.", examples=["waterline.notice"])
    id: str = Field(description="The same for each try to deliver this notice: count it once.")
    incident: str = Field(examples=["wl-12"])
    table: str = Field(examples=["sales.orders"])
    consumer: str = Field(description="Who is notified, as the configuration names it.", examples=["revenue_daily"])
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
        self,
        secrets: tuple[bytes, ...],
        addresses: Mapping[str, str] | None = None,
        *,
        limit_s: float = 15.0,
        logins: Logins | None = None,
    ) -> None:
        """`addresses`: name of a webhook, as the record has it -> URL. `limit_s`: until the status line and the headers
        are there, however slowly the receiver writes them."""
        self._secrets = secrets
        self._logins = logins or Logins()
        self._addresses = addresses or {}
        self._limit_s = limit_s

    def send(self, outgoing: NoticeDelivery) -> DeliveryResult:
        """See the port. Anything but 2xx did not arrive; most 4xx never will."""
        url, host = self._url(outgoing.address), outgoing.address.shown
        body = payload_of(outgoing).model_dump_json().encode()
        stamp = str(int(outgoing.at.timestamp()))
        headers = {
            "content-type": "application/json",
            "user-agent": "waterline",
            "idempotency-key": outgoing.key,
            "webhook-id": outgoing.key,
            "webhook-timestamp": stamp,
            "webhook-signature": " ".join(signature(secret, outgoing.key, stamp, body) for secret in self._secrets),
        }
        limits = httpx.Timeout(self._limit_s, connect=5.0)
        try:
            with (
                self._logins.client(timeout=limits, whole_s=self._limit_s) as http,
                http.stream("POST", url, content=body, headers=headers) as answer,
            ):
                status = answer.status_code
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise NotDelivered(f"The address at {host} is not a URL: {type(error).__name__}.") from error
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise NotDelivered(f"{host} cannot be reached: {type(error).__name__}: {error}.") from error
        except httpx.TimeoutException as error:
            raise NotDelivered(f"{host} did not answer within {self._limit_s:g} s.", may_be_there=True) from error
        except httpx.HTTPError as error:
            raise NotDelivered(f"{host} did not answer: {type(error).__name__}.", may_be_there=True) from error
        if not 200 <= status < 300:
            is_final = 400 <= status < 500 and status not in _AGAIN
            raise NotDelivered(f"{host} answered HTTP {status}.", is_final=is_final)
        return DeliveryResult(detail=f"{host} answered HTTP {status}.")

    def _url(self, address: Address) -> str:
        known = self._addresses.get(address.to)
        if known is None and " " in address.to:
            raise NotDelivered(
                f"The settings no longer have an address at {address.shown}. It was changed since this notice was "
                "made. Preview the notice again, or call them.",
                is_final=True,
            )
        return known or address.to


def payload_of(outgoing: NoticeDelivery) -> NoticePayload:
    notice = outgoing.notice
    return NoticePayload(
        type="waterline.notice",
        id=outgoing.key,
        incident=outgoing.incident,
        table=outgoing.table,
        consumer=notice.consumer,
        kind=notice.kind,
        revision=notice.revision,
        severity=notice.severity,
        tried_at=outgoing.at,
        may_be_repeated=outgoing.may_be_there,
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
                "Create one: echo whsec_$(openssl rand -base64 32).",
            )
        found.append(key)
    return tuple(found)
