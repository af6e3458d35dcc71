"""Who may read: nobody without the token or the proxy's word, and never what the rule does not open."""

import httpx
import pytest
from pydantic import SecretStr
from starlette.datastructures import Headers

from bot.observation.errors import BadConfiguration
from bot.settings import WebSettings, refuse_open_house
from bot.web.access import Access
from tests.web.scene import Scene

pytestmark = pytest.mark.smoke

TOKEN = "wl-read-5f1c"
CLOSED = ["/", "/tables/sales.orders", "/incidents/wl-1"]
CLOSED += ["/v1/tables", "/v1/incidents/wl-1", "/v1/openapi.json", "/mcp"]
PROXIED = Access(WebSettings(identity_header="X-User", proxies=("10.0.0.1",)), None)


@pytest.fixture
def access(request: pytest.FixtureRequest) -> Access:
    """A token, unless the test says another rule."""
    return getattr(request, "param", None) or Access(WebSettings(), TOKEN)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wl-read-5f1d"},
        {"Authorization": "Bearer wl-read-5f1c0"},
        {"Authorization": "Basic ???"},
        {"Authorization": TOKEN},
        {"X-Forwarded-Email": "ana@acme.example"},
    ],
)
def test_nothing_is_told_without_the_token(scene: Scene, web: httpx.Client, headers: dict[str, str]) -> None:
    """Neither pages nor API nor MCP, and no answer tells whether something is there."""
    scene.opens()

    found = {path: web.get(path, headers=headers) for path in CLOSED}

    assert {401} == {each.status_code for each in found.values()}
    assert {"Basic"} == {found[path].headers["www-authenticate"].split()[0] for path in CLOSED[:3]}
    assert {"Bearer"} == {found[path].headers["www-authenticate"].split()[0] for path in CLOSED[3:]}
    assert not any("orders" in each.text for each in found.values())


def test_the_token_opens_for_programs_and_for_browsers(scene: Scene, web: httpx.Client) -> None:
    """As a bearer, or as the password that a browser asks for."""
    bearer = web.get("/v1/tables", headers={"Authorization": f"bearer {TOKEN}"})
    browser = web.get("/", auth=("ana", TOKEN))

    assert (200, 200) == (bearer.status_code, browser.status_code)


@pytest.mark.parametrize(
    ("proxies", "header", "client", "is_let_in"),
    [
        (("127.0.0.1",), ("x-user", "ana"), "127.0.0.1", True),
        (("10.0.0.0/8", "::1"), ("X-USER", "ana"), "10.1.2.3", True),
        (("10.0.0.0/8", "::1"), ("x-user", "ana"), "::1", True),
        (("10.0.0.0/8",), ("x-user", "ana"), "::ffff:10.0.0.5", True),
        (("::ffff:10.0.0.0/104",), ("x-user", "ana"), "::ffff:10.0.0.5", True),
        (("10.0.0.0/8",), ("x-user", "ana"), "::ffff:11.0.0.5", False),
        (("127.0.0.1",), ("x-user", "  "), "127.0.0.1", False),
        (("127.0.0.1",), ("x-other", "ana"), "127.0.0.1", False),
        (("10.0.0.0/8",), ("x-user", "ana"), "127.0.0.1", False),
        (("10.0.0.0/8",), ("x-user", "ana"), "", False),
    ],
)
def test_a_proxys_word_counts_only_from_its_own_address(
    proxies: tuple[str, ...], header: tuple[str, str], client: str, is_let_in: bool
) -> None:
    """Whoever reaches the port past the proxy can write any header, and is not believed."""
    access = Access(WebSettings(identity_header="X-User", proxies=proxies), None)

    found = access.allows(Headers({header[0]: header[1]}), client, "/v1/tables")

    assert is_let_in is found


def test_a_header_that_comes_twice_names_nobody() -> None:
    """Nobody knows which of them the proxy wrote."""
    once = Headers(raw=[(b"x-user", b"ana")])
    twice = Headers(raw=[(b"x-user", b"ana"), (b"x-user", b"ben")])

    assert ("ana", None) == (PROXIED.identity(once, "10.0.0.1"), PROXIED.identity(twice, "10.0.0.1"))


@pytest.mark.parametrize("access", [PROXIED], indirect=True)
def test_a_forwarded_address_is_not_taken_for_the_proxys(web: httpx.Client) -> None:
    """The address that counts is the connection's, never one that a header claims."""
    found = web.get("/v1/tables", headers={"X-User": "ana", "X-Forwarded-For": "10.0.0.1", "Forwarded": "for=10.0.0.1"})

    assert found.status_code == 401


@pytest.mark.parametrize("access", [Access(WebSettings(), None)], indirect=True)
def test_a_page_elsewhere_cannot_reach_an_open_server_under_its_own_name(web: httpx.Client) -> None:
    """DNS that points to loopback: where nothing is asked of whoever comes, only local names are answered."""
    strange = web.get("/v1/tables", headers={"Host": "evil.example"})
    local = web.get("/v1/tables", headers={"Host": "localhost"})

    assert (400, 200) == (strange.status_code, local.status_code)


@pytest.mark.parametrize("host", ["0.0.0.0", "10.1.2.3", "::", "waterline.acme.example"])  # noqa: S104 - nothing listens here
def test_an_open_house_does_not_start(host: str) -> None:
    """Without token and proxy it listens on loopback only."""
    with pytest.raises(BadConfiguration, match="anybody who reaches"):
        refuse_open_house(WebSettings(host=host), None)

    refuse_open_house(WebSettings(host=host), SecretStr(TOKEN))
    refuse_open_house(WebSettings(host=host, identity_header="X-User"), None)
    refuse_open_house(WebSettings(host=host, pages=False), None)  # probes name no table


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.8.8.8"])
def test_loopback_may_be_open(host: str) -> None:
    """Only this machine can connect."""
    refuse_open_house(WebSettings(host=host), None)


def test_a_proxy_is_named_by_its_address() -> None:
    """A name would have to be looked up, and could be made to point elsewhere."""
    with pytest.raises(BadConfiguration, match="proxy-1 is no address"):
        refuse_open_house(WebSettings(proxies=("proxy-1",)), None)
