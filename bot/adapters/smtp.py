"""Notices by e-mail: one multipart message (text and HTML of the same words) over SMTP."""

import smtplib
import socket
import ssl
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Literal

from bot.domain.errors import NotDelivered
from bot.notices.forms import TAKES_NO_ANSWER, as_html, as_plain, headline
from bot.ports.carriers import Parcel, Receipt

Security = Literal["starttls", "tls", "none"]
_TWICE = "Sending this was interrupted, so it may have come twice. It counts once."


class Smtp:
    """One mail server. A connection a message: notices are rare, and a kept one is stale when it is needed."""

    def __init__(
        self,
        host: str,
        port: int,
        sender: str,
        *,
        security: Security = "starttls",
        login: tuple[str, str] | None = None,
        limit_s: float = 20.0,
    ) -> None:
        """`login`: user and password. `limit_s`: of each step of the conversation."""
        self._host = host
        self._port = port
        self._sender = sender
        self._security = security
        self._login = login
        self._limit_s = limit_s

    def carry(self, parcel: Parcel) -> Receipt:
        """See the port. The Message-ID is the same for each try: mailboxes that know it keep one."""
        message = mail_of(parcel, self._sender)
        server: smtplib.SMTP | None = None
        try:
            server = self._connected()
            server.send_message(message)
        except smtplib.SMTPRecipientsRefused as refused:
            code, said = next(iter(refused.recipients.values()))
            raise self._refused(parcel, code, said) from refused
        except smtplib.SMTPResponseException as refused:
            raise self._refused(parcel, refused.smtp_code, refused.smtp_error) from refused
        except (smtplib.SMTPException, OSError) as error:
            raise NotDelivered(
                f"The mail server {self._host}:{self._port} did not take it: {type(error).__name__}: {error}.",
                may_be_there=server is not None,
            ) from error
        finally:
            if server is not None:
                _left(server)
        return Receipt(detail=f"The mail server {self._host} took it, Message-ID {message['Message-ID']}.")

    def _connected(self) -> smtplib.SMTP:
        if self._security == "tls":
            context = ssl.create_default_context()
            server: smtplib.SMTP = smtplib.SMTP_SSL(self._host, self._port, timeout=self._limit_s, context=context)
        else:
            server = smtplib.SMTP(self._host, self._port, timeout=self._limit_s)
        try:
            if self._security == "starttls":
                server.starttls(context=ssl.create_default_context())
            if self._login is not None:
                server.login(*self._login)
        except BaseException:
            server.close()
            raise
        return server

    def _refused(self, parcel: Parcel, code: int, said: bytes | str) -> NotDelivered:
        """5xx is for good, except where the server refuses us and not the message: somebody mends that."""
        text = said.decode(errors="replace") if isinstance(said, bytes) else said
        is_final = 500 <= code < 600 and code not in {530, 534, 535, 538}
        return NotDelivered(
            f"The mail server {self._host}:{self._port} refused it for {parcel.address.to}: {code} {text}.",
            is_final=is_final,
        )


def _left(server: smtplib.SMTP) -> None:
    """What was taken stays taken, however the goodbye goes."""
    try:
        server.quit()
    except (smtplib.SMTPException, OSError):
        server.close()


def mail_of(parcel: Parcel, sender: str) -> EmailMessage:
    """The message of a parcel: the same for each try, but for its date and the note that it may have come twice."""
    notice = parcel.notice
    message = EmailMessage()
    message["From"] = sender
    message["To"] = parcel.address.to
    subject = headline(notice.text)
    message["Subject"] = f"[{parcel.incident}] {subject}"[:200]
    message["Date"] = format_datetime(parcel.at)
    message["Message-ID"] = f"<{parcel.key}@{_host_of(sender)}>"
    message["References"] = f"<{parcel.incident}.{_slug(notice.consumer)}@{_host_of(sender)}>"
    message["Auto-Submitted"] = "auto-generated"
    message["X-Waterline-Notice"] = notice.key(parcel.incident)
    text = f"{notice.text}\n\n{_TWICE}" if parcel.may_be_there else notice.text
    message.set_content(f"{as_plain(text)}\n{TAKES_NO_ANSWER}\n")
    message.add_alternative(as_html(text), subtype="html")
    return message


def _host_of(sender: str) -> str:
    host = sender.rpartition("@")[2].rstrip(">").strip()
    return host if host.isascii() and host else socket.gethostname()


def _slug(name: str) -> str:
    return "".join(each if each.isascii() and each.isalnum() else "-" for each in name)
