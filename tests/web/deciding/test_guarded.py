"""Nobody decides on a page in another's name: forms from elsewhere, forged headers, replayed forms, tokens."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bot.domain.errors import BadConfiguration
from bot.domain.execution import ProposalState
from bot.domain.ids import UserId
from bot.settings import WebSettings, refuse_open_house
from bot.web.own_forms import OwnForms
from tests.decisions import BEN
from tests.web.deciding.world import MAILS, SIGNED_WITH, WEB, Person, World, said

MAIL = "ben@acme.example"


@pytest.fixture
def web() -> WebSettings:
    """Behind a proxy on this machine; a test may say another."""
    return WEB


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Ana has proposed the rewind."""
    with ExitStack() as stack:
        yield World(tmp_path, stack)


@pytest.fixture
def ben(world: World, web: WebSettings) -> Iterator[Person]:
    """An approver, through the proxy."""
    with world.serves(web) as address:
        yield Person(address, MAIL)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "null"},
        {"Origin": "https://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://{own}"},
        {"Origin": "http://{own}", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://{own}", "Sec-Fetch-Site": "same-site"},
        {"Origin": "http://{own}", "Sec-Fetch-Site": "none"},
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_a_form_from_elsewhere_decides_nothing(world: World, ben: Person, headers: dict[str, str]) -> None:
    """Even with everything else right, as if a page elsewhere had read it: a browser says where it was sent from."""
    own = ben.base.removeprefix("http://")
    if headers == {"Origin": "https://{own}"}:
        headers, own = {"Origin": "https://{own}"}, f"{own}0"

    answer = ben.sends(
        {name: value.format(own=own) for name, value in headers.items()}, {**ben.forms["approve"], "sure": "yes"}
    )

    assert 403 == answer.status_code
    assert "This did not come from the proposal's own page. Nothing was decided." in said(answer)
    assert "no-store" == answer.headers["cache-control"]
    assert world.view.state is ProposalState.PROPOSED


@pytest.mark.parametrize("web", [WEB.model_copy(update={"public_url": "https://waterline.acme.example/"})])
def test_behind_the_proxy_the_pages_own_address_is_the_public_one(world: World, ben: Person) -> None:
    """What the browser shows counts, not what the proxy connects to."""
    form = {**ben.forms["approve"], "sure": "yes"}
    inner = ben.sends({"Origin": ben.base, "Sec-Fetch-Site": "same-origin"}, form)
    downgraded = ben.sends({"Origin": "http://waterline.acme.example"}, form)
    public = ben.sends({"Origin": "https://waterline.acme.example", "Sec-Fetch-Site": "same-origin"}, form)

    assert (403, 403, 303) == (inner.status_code, downgraded.status_code, public.status_code)
    assert [BEN] == [given.by for given in world.view.approvals]


def test_a_form_without_the_pages_token_decides_nothing(world: World, ben: Person) -> None:
    """A token that was guessed, cut, signed with another secret, or left out."""
    form = {**ben.forms["approve"], "sure": "yes"}
    other = OwnForms((b"o" * 32,), None).token(MAIL, BEN, form["digest"])

    answers = [ben.submits({**form, "token": token}) for token in ("", form["token"][:-1], "x" * 43, other, "ü")]

    assert {403} == {each.status_code for each in answers}
    assert all("This form cannot be used any more. Nothing was decided." in said(each) for each in answers)
    assert world.view.state is ProposalState.PROPOSED


def test_a_replayed_form_decides_for_whom_it_was_made_only_and_once(world: World, ben: Person) -> None:
    """Whoever else sends it, also one who may approve, decides nothing; the same person's counts once."""
    form = {**ben.forms["approve"], "sure": "yes"}
    cleo = Person(ben.base, "cleo@acme.example")

    others = cleo.submits(form)
    own = [ben.submits(form).status_code for _ in range(3)]

    assert (403, [303] * 3) == (others.status_code, own)
    assert [BEN] == [given.by for given in world.view.approvals]


@pytest.mark.parametrize("web", [WEB.model_copy(update={"proxies": ("10.0.0.1",)})])
def test_a_forged_identity_header_decides_nothing(world: World, ben: Person) -> None:
    """Past the proxy the header names nobody, also with the token that lets one read, and with a form of Ben's."""
    forger = Person(ben.base, None, headers={"X-Forwarded-Email": MAIL, "X-Forwarded-For": "10.0.0.1"})
    token = OwnForms((SIGNED_WITH,), None).token(MAIL, BEN, str(world.view.proposal.id), world.view.proposal.digest)
    form = {"act": "approve", "digest": world.view.proposal.digest, "token": token, "sure": "yes"}

    answer, outside = forger.submits(form), ben.submits(form)

    assert (403, 401) == (answer.status_code, outside.status_code)
    assert {} == forger.forms
    assert "Nothing was decided: who may decide here is not known of you." in said(answer)
    assert world.view.state is ProposalState.PROPOSED


def test_a_header_that_comes_twice_names_nobody(world: World, ben: Person) -> None:
    """A proxy that adds its header to the asker's own leaves open which of them is the proxy's."""
    doubled = Person(ben.base, None, headers={"X-Forwarded-Email": MAIL, "x-forwarded-email": "eve@acme.example"})

    text = doubled.text

    assert {} == doubled.forms
    assert "You may read this, and not decide: nobody says who you are" in text


def test_a_token_lets_one_read_and_not_decide(world: World, ben: Person) -> None:
    """A token names no person: its holder is told so, and whom to ask."""
    holder = Person(ben.base, None)

    text, answer = holder.text, holder.submits({**ben.forms["approve"], "sure": "yes"})

    assert "30 rows leave main" not in text.partition("Decision")[2]
    assert "a token names no person" in text
    assert "Ask Ben Okafor or Cleo Martin." in text
    assert {} == holder.forms
    assert 403 == answer.status_code
    assert world.view.state is ProposalState.PROPOSED


@pytest.mark.parametrize("identity", ["mallory@acme.example", "Ben Okafor", BEN, MAIL.upper()])
def test_an_identity_that_is_bound_to_nobody_decides_nothing(world: World, ben: Person, identity: str) -> None:
    """Neither a display name nor a Slack id is an identity; the page says who has to name them."""
    stranger = Person(ben.base, identity)

    text, answer = stranger.text, stranger.submits({**ben.forms["approve"], "sure": "yes"})

    assert f"{identity} is bound to no Slack user id here." in text
    assert {} == stranger.forms
    assert 403 == answer.status_code
    assert world.view.state is ProposalState.PROPOSED


def test_a_decision_of_any_size_is_not_read_to_its_end(world: World, ben: Person) -> None:
    """Nor is what is none of our forms taken for one."""
    form = ben.forms["reject"]

    large = ben.submits(form, reason="x" * 20_000)
    strange = ben.submits({**form, "act": "delete"}, reason="Because.")

    assert (413, 422) == (large.status_code, strange.status_code)
    assert "This decision was not understood. Nothing was decided." in said(strange)
    assert world.view.state is ProposalState.PROPOSED


def test_pages_that_only_read_decide_nothing_and_say_where(world: World) -> None:
    """As those of `waterline web`, and of a bot without `web.people`."""
    with world.serves(decides=False) as address:
        ben = Person(address, MAIL)
        text = ben.text
        forms = ben.forms
        answer = ben.submits({"act": "reject", "digest": world.view.proposal.digest}, reason="No.")

    assert "Nothing is decided on these pages. Decide in the incident's channel in Slack" in text
    assert "waterline proposal show wl-1" in text
    assert {} == forms
    assert 405 == answer.status_code
    assert world.view.state is ProposalState.PROPOSED


@pytest.mark.parametrize(
    ("web", "says"),
    [
        (WebSettings(people=MAILS), "nobody could be recognised"),
        (WebSettings(identity_header="X-User", people={"ben": UserId("Ben Okafor")}), "names nobody"),
        (WebSettings(identity_header="X-User", people={"": BEN}), "names nobody"),
    ],
)
def test_people_whom_nothing_names_stop_the_start(web: WebSettings, says: str) -> None:
    """Without a header, and by anything but a Slack user id."""
    with pytest.raises(BadConfiguration, match=says):
        refuse_open_house(web, None)
