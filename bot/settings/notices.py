"""How notices leave by e-mail and webhook; what is not set up here cannot be a consumer's way."""

from datetime import timedelta
from typing import Literal

from pydantic import Field, SecretStr

from bot.domain.record import Record
from bot.settings.secrets import Secrets


class SmtpSettings(Record):
    """The mail server."""

    host: str = Field(min_length=1, description="The mail server's name.", examples=["smtp.acme.example"])
    port: int = Field(default=587, ge=1, le=65535, description="Its port.", examples=[587])
    security: Literal["starttls", "tls", "none"] = Field(
        default="starttls",
        description="`tls` from the first byte (port 465), `starttls`, or `none` for a relay on this host.",
        examples=["starttls"],
    )
    sender: str = Field(
        pattern=r"^[^\s@<>]+@[^\s@<>]+$", description="The address in From.", examples=["waterline@acme.example"]
    )
    user: str | None = Field(
        default=None,
        description="User name at the mail server; its password is WATERLINE_SMTP_PASSWORD. Without it, there "
        "is no login.",
        examples=["waterline"],
    )
    within: timedelta = Field(
        default=timedelta(seconds=20),
        gt=timedelta(0),
        description="Time limit of each step of one try, as an ISO 8601 duration or in seconds.",
        examples=["PT20S"],
    )


class NoticesSettings(Record):
    """Ways to consumers beside Slack. Webhooks need WATERLINE_WEBHOOK_SECRET, folders need nothing."""

    smtp: SmtpSettings | None = Field(default=None, description="The mail server. Without it, no notices go by e-mail.")


class NoticeSecrets(Secrets):
    """Each may be given as `NAME`, or as `NAME_FILE` with the path of a file that holds it."""

    waterline_smtp_password: SecretStr | None = Field(
        default=None, description="Password of `notices.smtp.user` at the mail server."
    )
    waterline_webhook_secret: SecretStr | None = Field(
        default=None,
        description="Signs webhook notices: `whsec_` and base64. Several, separated by spaces, while you change it.",
    )
