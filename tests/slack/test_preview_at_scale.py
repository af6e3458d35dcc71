"""Whoever sends or approves notices can read every text, however many consumers there are; Slack refuses none of it."""

from collections.abc import Iterator

import pytest

from bot.incident.approval import ApprovalPolicy
from bot.incident.notice import Notice
from bot.observation.readers import Consumer
from bot.slack.text import DATE, mrkdwn
from bot.workspace import Workspace
from bot.workspace.seen import Seen
from tests.slack.little_bot import LittleBot
from tests.slack.orders import Orders
from tests.slack.people import Responder, eventually

pytestmark = [pytest.mark.slow, pytest.mark.rotating]


def many(count: int) -> tuple[Consumer, ...]:
    """Every third is told by webhook, the others by mail."""
    hook = "https://hooks.acme.example/waterline"
    return tuple(
        Consumer(name=f"report_{n:03d}", webhook=f"{hook}/{n}")
        if n % 3 == 0
        else Consumer(name=f"report_{n:03d}", email=(f"report-{n}@acme.example",))
        for n in range(count)
    )


def read_by_every_second(orders: Orders, consumers: tuple[Consumer, ...]) -> None:
    """So that their texts differ by more than a name."""
    for number, consumer in enumerate(consumers):
        if number % 2 == 0:
            orders.read_by(consumer.name, f"run-of-{consumer.name}", orders.head)


def lines_of(shown: Seen) -> set[str]:
    """Every line of its text as Slack got it, with times in UTC."""
    texts = [block["text"]["text"] for block in shown.blocks if block["type"] == "section"]
    texts += [each["text"] for block in shown.blocks if block["type"] == "context" for each in block["elements"]]
    return {line.strip() for text in texts for line in DATE.sub(r"\1", text).splitlines()}


def paged(person: Responder) -> Iterator[set[str]]:
    """The lines of each page of the form on top, from the first to the last."""
    person.reads_form()
    yield lines_of(person.modal)
    while "Next page" in person.modal.buttons:
        before = person.modal.hash
        person.clicks("Next page", person.modal)
        eventually(lambda before=before: person.modal.hash != before)
        yield lines_of(person.modal)


def unread(notices: tuple[Notice, ...], lines: set[str]) -> list[str]:
    """Consumers whose address or whose text, to the last line and with nobody's name but theirs changed, is nowhere."""
    names = [mrkdwn(notice.consumer) for notice in notices]

    def is_there(notice: Notice) -> bool:
        own = mrkdwn(notice.consumer)
        texts = (notice.text.replace(own, name) for name in [own, *names])
        addressed = any(f"*To {own}*" in line and notice.ways[0].shown in line for line in lines)
        return addressed and any(all(line.strip() in lines for line in text.splitlines() if line) for text in texts)

    return [notice.consumer for notice in notices if not is_there(notice)]


@pytest.fixture(params=[3, 30, 120])
def consumers(request: pytest.FixtureRequest) -> tuple[Consumer, ...]:
    """So many."""
    return many(request.param)


def test_every_text_is_read_before_it_is_sent(
    ana: Responder, bot: LittleBot, orders: Orders, consumers: tuple[Consumer, ...]
) -> None:
    """Page by page, with the facts that go along by webhook; from the last page all of them are sent, and back again
    the first page is what it was."""
    ana.opens()
    read_by_every_second(orders, consumers)
    ana.opens_form("notify update")
    found = list(paged(ana))
    [incident] = bot.services.store.all()
    previewed = max(incident.previews.values(), key=lambda notices: notices[0].kind == "update")
    lines = set[str]().union(*found)
    missing = unread(previewed, lines)
    data = [line for line in lines if line.startswith('"affected_runs"')]
    while "Previous page" in ana.modal.buttons:
        before = ana.modal.hash
        ana.clicks("Previous page", ana.modal)
        eventually(lambda before=before: ana.modal.hash != before)
    first = lines_of(ana.modal)

    answer = ana.answer_to(ana.submits)

    assert missing == []
    assert data
    assert all(f'"run-of-{c.name}"' in lines for c in consumers if c.webhook and int(c.name[-3:]) % 2 == 0)
    assert first == found[0]
    assert "Sent to report_000, report_001, report_002" in answer
    sent = bot.services.store.get(incident.id).notices.values()
    assert {view.notice.text for view in sent} == {notice.text for notice in previewed}


def test_a_second_person_can_read_every_text(
    ana: Responder, ben: Responder, bot: LittleBot, orders: Orders, consumers: tuple[Consumer, ...]
) -> None:
    """Nothing is cut in the form that sends them."""
    setup = next(iter(bot.services.observer.tables.values()))
    policies = {**setup.policies, "notice": ApprovalPolicy(groups=("S0APPROVE1",))}
    bot.services.observer.tables = {setup.name: setup.model_copy(update={"policies": policies})}
    ana.opens()
    read_by_every_second(orders, consumers)
    ana.opens_form("notify update")
    ana.submits()
    ben.clicks("Read and send…", ben.sees("please read and send it"))
    lines = set[str]().union(*paged(ben))
    ben.submits()
    ben.sees("sent by")

    [incident] = bot.services.store.all()
    [held] = incident.held
    assert unread(incident.previews[held], lines) == []
    assert len(bot.services.store.get(incident.id).notices) == len(consumers)


class TestRefused:
    """Where Slack does not take a form."""

    @pytest.fixture
    def consumers(self) -> tuple[Consumer, ...]:
        """Enough for two pages."""
        return many(30)

    def test_whoever_waits_for_a_form_that_slack_refuses_is_told(
        self, slack: Workspace, ana: Responder, bot: LittleBot
    ) -> None:
        """The form says so instead of “Rendering…”, and the person alone is told why; the next try shows it."""
        ana.opens()
        slack.faults.fails("views.update", "invalid_arguments")

        answer = ana.answer_to(lambda: ana.types("/waterline notify update"))
        instead = ana.reads_form()
        ana.dismisses()
        ana.opens_form("notify update")

        assert "Slack rejected this form. Slack said: invalid_arguments" in answer
        assert "Slack rejected" in instead
        assert ana.modal.submit == "Send to 30 consumers"

    def test_a_page_that_slack_refuses_is_told_in_the_channel_of_the_form(
        self, slack: Workspace, ana: Responder, orders: Orders, consumers: tuple[Consumer, ...]
    ) -> None:
        """A form has no channel of its own."""
        ana.opens()
        read_by_every_second(orders, consumers)
        ana.opens_form("notify update")
        slack.faults.fails("views.update", "view_too_large")

        answer = ana.answer_to(lambda: ana.clicks("Next page", ana.modal))

        assert "Slack said: view_too_large" in answer

    def test_what_passes_is_waited_for(self, slack: Workspace, ana: Responder) -> None:
        """A hiccup of Slack's is nobody's business."""
        ana.opens()
        slack.faults.fails("views.update", "internal_error", times=2)

        ana.opens_form("notify update")

        assert ana.modal.submit == "Send to 30 consumers"
