"""Where pages, API and MCP server listen, and who may read them."""

import ipaddress

from pydantic import Field, SecretStr

from bot.domain.errors import BadConfiguration
from bot.domain.record import Record
from bot.settings.secrets import Secrets


class WebSettings(Record):
    """Pages, API and MCP server: all of them only read."""

    host: str = Field(
        default="127.0.0.1",
        description="Address that listens; `0.0.0.0` if a proxy connects from another host. Any address but "
        "loopback needs a token or an identity header.",
        examples=["127.0.0.1"],
    )
    port: int = Field(default=8370, ge=0, le=65535, description="Port that listens; 0: a free one.", examples=[8370])
    identity_header: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9-]+$",
        description="Header in which an authenticating proxy names the user. Everybody whom it names may read.",
        examples=["X-Forwarded-Email"],
    )
    proxies: tuple[str, ...] = Field(
        default=("127.0.0.1", "::1"),
        description="Addresses and networks of that proxy. The header is ignored from anywhere else.",
        examples=[["10.0.0.0/8"]],
    )

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


class WebSecrets(Secrets):
    """`WATERLINE_WEB_TOKEN`, or `WATERLINE_WEB_TOKEN_FILE` with the path of a file that holds it."""

    waterline_web_token: SecretStr | None = Field(
        default=None,
        description="Token for pages, API and MCP server: as `Authorization: Bearer …`, or as the password a browser "
        "asks for.",
    )


def refuse_open_house(web: WebSettings, token: SecretStr | None) -> None:
    """Raises BadConfiguration when anybody in the network could read, and for a proxy that is no address."""
    if not (web.is_loopback or token is not None or web.identity_header is not None):
        raise BadConfiguration(
            f"The pages are not served: anybody who reaches {web.host}:{web.port} could read them.",
            "Expected WATERLINE_WEB_TOKEN in the environment, or `web.identity_header`; found neither.",
            "Set one of them, or let `web.host` be 127.0.0.1.",
        )
    for proxy in web.proxies:
        try:
            ipaddress.ip_network(proxy)
        except ValueError as error:
            raise BadConfiguration(
                f"web.proxies: {proxy} is no address.",
                f"Expected addresses such as 10.1.2.3 or networks such as 10.0.0.0/8; found: {error}.",
                "Write the address of the proxy, not its name.",
            ) from error
