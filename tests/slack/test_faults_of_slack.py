"""Slack repeats itself, drops connections, refuses and loses answers; nothing is lost and nothing is done twice."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import SimpleNamespace

import pytest
from slack_sdk import WebClient

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql import Store, open_store
from bot.observation.errors import CouldNotLook
from bot.observation.ids import IncidentId, UserId
from bot.ports import LONGEST_WAIT, Post
from bot.slack import sender
from bot.slack.directory import SlackDirectory
from bot.slack.gateway import Arrivals
from bot.slack.render import render
from bot.slack.sender import Sender
from bot.slack.sent_before import answer_was_lost, directly, file_is_there, find_sent
from bot.workspace import SeenMessage, Workspace
from tests.adapters.serving import handled
from tests.orders_table import NINE
from tests.slack.little_bot import LittleBot, as_time_goes_on, nothing_waits, proposal_is_sent
from tests.slack.people import ONCALL, Responder, eventually
from tests.slack.test_bad_input import TO_ANA, TO_BEN, is_told, opened_again, shut

WL, REVENUE = IncidentId("wl-1"), "revenue-analytics"


def notes(bot: LittleBot) -> int:
    """How many remarks the record holds."""
    return sum(entry.body.kind == "note-added" for entry in bot.services.store.get(WL).entries)


def test_a_redelivered_command_is_one_command(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """The same delivery again, at once or later, does nothing."""
    slack.faults.doubles_deliveries()

    ana.asks("note it began at nine")
    slack.faults.redelivers()
    ana.asks("status")

    assert notes(bot) == 1
    assert sum("Noted in wl-1." in m.plain for m in ana.messages()) == 1


def test_a_redelivered_click_is_one_click(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """One trigger, delivered three times: one proposal, no second answer."""
    slack.faults.doubles_deliveries()

    ana.clicks("Propose", collected)
    ana.sees_on_proposal("Approve")
    again = slack.faults.redelivers()
    ana.asks("status")

    assert again == "acked"
    assert len(bot.services.store.get(WL).proposals) == 1
    assert sum("waiting for approval already" in m.plain for m in ana.messages()) == 0


def test_a_double_click_is_done_once_and_answered(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Two clicks with two triggers are two requests: the second one is told that it is done already."""
    slack.faults.doubles_clicks()

    answer = ana.answer_to(lambda: ana.clicks("Propose", collected))

    assert "Another proposal is waiting for approval." in answer
    assert len(bot.services.store.get(WL).proposals) == 1


def test_a_dropped_socket_comes_back(collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace) -> None:
    """After the connection was reset the bot connects again, when some pings were in vain, and answers."""
    bot.ping_s = 1.0
    bot.restart()
    eventually(lambda: slack.connected == 1)

    slack.faults.drops_sockets()
    eventually(lambda: slack.connected == 1)

    assert "wl-1 sales.orders" in ana.asks("status")


def test_rate_limits_lose_nothing_and_keep_the_order(ana: Responder, bot: LittleBot, slack: Workspace) -> None:
    """429 with Retry-After pauses the channel; what waits comes later, in its order, once."""
    slack.faults.ratelimits("chat.postMessage", times=2, retry_after_s=1)

    card = ana.opens()
    ana.clicks("Run all", card)
    eventually(lambda: "Propose" in ana.card.buttons)

    replies = [m.plain for m in ana.card.replies]
    assert "Evidence: " in replies[0]
    assert len(replies) == len(set(replies))
    limited = [entry for entry in slack.wire("api", "chat.postMessage") if entry.error == "ratelimited"]
    assert len(limited) == 2


@pytest.mark.parametrize("how", ["deleted", "edit_window_closed", "cant_update_message"])
def test_a_card_that_cannot_be_edited_is_posted_anew_with_the_next_change(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace, how: str
) -> None:
    """Somebody deleted it, or the workspace or another token keeps the bot from editing it. An incident is never
    without its card: it comes once, with its buttons. Those of the old one answer as before."""
    eventually(lambda: nothing_waits(bot))
    bot.clock.advances(timedelta(minutes=10))
    if how == "deleted":
        slack.faults.deletes(ONCALL, collected.ts)
    elif how == "edit_window_closed":
        slack.faults.time_passes(timedelta(minutes=10))
        slack.faults.sets_rules(edit_window_s=300)
    else:
        slack.faults.fails("chat.update", how)

    ana.asks("note the card is old")
    eventually(as_time_goes_on(bot, lambda: ana.card.ts != collected.ts))
    ana.asks("note and it is there again")
    ana.sees("and it is there again")
    eventually(lambda: nothing_waits(bot))

    left = [m for m in ana.messages() if "Add a note…" in m.buttons]
    assert len(left) == (1 if how == "deleted" else 2)
    if how != "deleted":
        ana.clicks("Propose", left[0])
        assert "Another proposal is waiting" in ana.answer_to(lambda: ana.clicks("Propose", left[0]))


def test_where_no_message_can_be_edited_changes_come_together(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Not each one as a message of its own: what changed within half a minute is shown at once."""
    eventually(lambda: nothing_waits(bot))
    slack.faults.sets_rules(edit_window_s=0)

    ana.asks("note one")
    ana.asks("note two")
    eventually(as_time_goes_on(bot, lambda: ana.card.ts != collected.ts))
    eventually(lambda: nothing_waits(bot))

    assert sum("Add a note…" in m.buttons for m in ana.messages()) == 2


def test_a_card_that_was_edited_is_right_again_with_the_next_change(
    collected: SeenMessage, ana: Responder, slack: Workspace
) -> None:
    """What somebody wrote over the bot's words stands only until the bot speaks again, on the same message."""
    slack.faults.edits(ONCALL, collected.ts, "All is well, nothing to do.")

    ana.asks("note somebody edited the card")
    again = ana.sees_on_card("Propose")

    assert again.ts == collected.ts
    assert "All is well" not in again.plain


def test_a_form_that_was_open_over_a_restart_is_taken(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Nothing of a form lives in the bot: what was written before it was restarted counts."""
    ana.clicks("Add a note…", collected)
    ana.fills({"reason": "It began at nine."})

    bot.restart()
    eventually(lambda: slack.connected == 1)
    ana.submits()
    eventually(lambda: notes(bot) > 0)

    assert notes(bot) == 1


@pytest.fixture
def refused(ana: Responder, eli: Responder, slack: Workspace, how: str) -> SeenMessage:
    """A consumer's channel does not take the warning; the incident says so, and the others are warned."""
    shut(slack, how, REVENUE)
    ana.opens_and_warns()
    eli.sees("under review", "fraud-ml")
    return ana.sees("for revenue_daily waits")


@pytest.mark.parametrize("how", ["archived", "read_only"])
def test_a_notice_waits_for_its_channel_and_comes_when_the_bot_may_post(
    refused: SeenMessage, ana: Responder, dana: Responder, bot: LittleBot, slack: Workspace, how: str
) -> None:
    """The responder hears what to change, and whom to call meanwhile. It comes once, and nobody clicks for it."""
    code = {"archived": "is_archived"}.get(how, f"restricted_action_{how}_channel")
    direct = is_told(ana, TO_ANA, f"I cannot write in #{REVENUE}").plain
    card = ana.sees_on_card("takes no messages from the bot").plain

    opened_again(slack, how, REVENUE)
    eventually(as_time_goes_on(bot, lambda: nothing_waits(bot)))

    assert all(f"Slack says {code}" in told for told in (refused.plain, direct, card))
    assert "a notice of wl-1 waits" in direct
    assert sum("under review" in m.plain for m in dana.messages(REVENUE)) == 1
    [view] = [v for v in bot.services.store.get(WL).notices.values() if v.notice.consumer == "revenue_daily"]
    assert view.ended is not None
    assert view.ended.how == "delivered"


@pytest.mark.parametrize("how", ["archived"])
def test_a_notice_that_waits_is_not_sent_after_the_incident(
    refused: SeenMessage, ana: Responder, bot: LittleBot
) -> None:
    """A warning of an incident that is closed tells nobody anything."""
    ana.asks("close anyway, it was a test")
    eventually(as_time_goes_on(bot, lambda: nothing_waits(bot)))

    [view] = [v for v in bot.services.store.get(WL).notices.values() if v.notice.consumer == "revenue_daily"]
    assert view.ended is not None
    assert view.ended.how == "overtaken"


def test_messages_wait_while_the_token_is_revoked(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """A revoked token is no reason to forget a message: it is sent when the token is good again."""
    slack.faults.revokes_token()
    ana.types("/waterline run duplicate_rows")
    eventually(lambda: bot.services.store.get(WL).latest.get("duplicate_rows") is not None)
    eventually(lambda: any(e.error == "token_revoked" for e in slack.wire("api")))

    slack.faults.disarms()
    eventually(as_time_goes_on(bot, lambda: any("Running duplicate_rows" in m.plain for m in ana.messages())))

    assert ana.sees("Running duplicate_rows").is_ephemeral


CUT = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"ok":true,'


def whole(answer: dict[str, object], status: str = "200 OK", headers: str = "") -> bytes:
    """An answer of Slack's."""
    body = json.dumps(answer)
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()


@contextmanager
def slack_that_says(*answers: bytes) -> Iterator[tuple[WebClient, list[str]]]:
    """One answer after the other, the last one for ever; and which methods were asked."""
    left, asked = list(answers), list[str]()

    class Door(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path.rsplit("/", 1)[1])
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.wfile.write(left.pop(0) if len(left) > 1 else left[0])
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with handled(Door) as address:
        yield WebClient(token="xoxb-1", base_url=f"{address}/", retry_handlers=[]), asked


@dataclass
class Now:
    """A clock that is set by hand."""

    at: datetime = NINE

    def now(self) -> datetime:
        """See the port."""
        return self.at


@dataclass
class Scene:
    """A record with one message to be sent."""

    store: Store
    clock: Now = field(default_factory=Now)
    ended: list[str | None] = field(default_factory=list)

    def sender(self, client: WebClient) -> Sender:
        """What sends its message."""
        nothing = SimpleNamespace(store=None, clock=self.clock)
        return Sender(
            client, self.store.outbox, nothing, self.clock, Arrivals(),  # type: ignore[arg-type]
            min_message_interval=timedelta(seconds=1), overtaken=lambda _post: None,
            on_end=lambda _post, problem: self.ended.append(problem),
        )  # fmt: skip

    def sends(self, client: WebClient) -> Post:
        """One try, and what the record says afterwards."""
        sender = self.sender(client)
        post = self.store.outbox.claim(self.clock.now())
        assert post is not None
        sender._send(post)
        found = self.store.outbox.find("x/y")
        assert found is not None
        return found


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """It waits to be sent."""
    with closing(open_store(f"sqlite:///{tmp_path}/record.db")) as store:
        store.outbox.put(Post(key="x/y", incident=None, channel="C1", text="hello"))
        yield Scene(store)


def test_a_message_whose_answer_was_cut_is_looked_for_and_not_lost(scene: Scene) -> None:
    """Slack has it: it is found under its key, and counts as sent."""
    there = {"ts": "1.1", "metadata": {"event_payload": {"key": "x/y"}}}
    with slack_that_says(CUT, whole({"ok": True, "messages": [there]}), whole({"ok": True, "ts": "1.1"})) as (
        client, asked,
    ):  # fmt: skip
        first = scene.sends(client)
        scene.clock.at += timedelta(minutes=1)
        second = scene.sends(client)

    assert (first.state, first.tries) == ("queued", 1)
    assert (second.state, second.ts, second.problem) == ("sent", "1.1", None)
    assert asked == ["chat.postMessage", "conversations.history", "chat.update"]
    assert scene.ended == [None]


def test_a_fault_in_sending_ends_a_message_only_after_some_tries(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slack may have it: only what cannot be rendered is at its end at once."""

    def broken(**_: object) -> None:
        raise ValueError("a defect")

    with slack_that_says(whole({"ok": True, "messages": []})) as (client, _asked):
        monkeypatch.setattr(client, "chat_postMessage", broken)
        states = []
        for _ in range(5):
            states.append(scene.sends(client).state)
            scene.clock.at += timedelta(minutes=1)

    assert states == ["queued"] * 4 + ["failed"]
    assert scene.ended == ["sending it failed 5 times (ValueError('a defect'))"]


def test_what_cannot_be_rendered_is_at_its_end(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slack was not asked, and would not be asked next time."""

    def broken(*_: object) -> None:
        raise ValueError("a defect")

    monkeypatch.setattr(sender, "render", broken)
    with slack_that_says(whole({"ok": True})) as (client, asked):
        post = scene.sends(client)

    assert post.state == "failed"
    assert scene.ended == ["it could not be rendered: ValueError('a defect')"]
    assert asked == []


@pytest.mark.parametrize(("asked", "waits"), [("60", timedelta(minutes=1)), ("3600", LONGEST_WAIT)])
def test_slack_is_not_asked_before_the_time_that_it_asks_for(scene: Scene, asked: str, waits: timedelta) -> None:
    """Nor at once where that is longer than any wait that is believed: at the end of the longest one."""
    refusal = whole({"ok": False, "error": "ratelimited"}, "429 Too Many Requests", f"Retry-After: {asked}\r\n")
    with slack_that_says(refusal) as (client, _methods):
        scene.sends(client)

    assert scene.store.outbox.claim(NINE + timedelta(seconds=5)) is None
    assert scene.store.outbox.claim(NINE + waits - timedelta(seconds=1)) is None
    assert scene.store.outbox.claim(NINE + waits) is not None


def test_what_is_looked_for_under_a_cut_answer_is_not_known(scene: Scene) -> None:
    """It may be there unseen."""
    post = Post(key="x/y", incident=None, channel="C1", text="hello", tries=2, problem="IncompleteRead")
    with slack_that_says(CUT) as (client, _asked):
        assert find_sent(client, post, None) == (None, True)
        assert file_is_there(client, "C1", "1.1", "a.png") is None
    assert answer_was_lost(post)


def test_a_group_under_a_cut_answer_could_not_be_looked_at() -> None:
    """Which is said in words, and is no defect of ours."""
    with slack_that_says(CUT) as (client, _asked), pytest.raises(CouldNotLook, match="could not be read"):
        SlackDirectory(client).members(["S1"])


def test_a_stop_while_a_message_is_sent_still_writes_down_that_it_was_sent(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the next start would send it again, where it cannot look for it."""
    client, stopping = WebClient(token="xoxb-1"), list[threading.Thread]()
    sender = scene.sender(client)

    def stopped_meanwhile(**_: object) -> dict[str, str]:
        closing = threading.Thread(target=sender.close)
        closing.start()
        stopping.append(closing)
        eventually(lambda: sender._stopped)
        return {"ts": "1.1"}

    monkeypatch.setattr(client, "chat_postMessage", stopped_meanwhile)
    sender.start()
    eventually(lambda: len(stopping) == 1)
    stopping[0].join()

    post = scene.store.outbox.find("x/y")
    assert post is not None
    assert (post.state, post.ts, len(stopping)) == ("sent", "1.1", 1)


def proposals(ana: Responder) -> list[str]:
    """Every message that shows the proposal."""
    return [m.plain for m in ana.messages() if "What will happen" in m.plain]


def is_answered(slack: Workspace, method: str, error: str) -> bool:
    """Whether Slack has answered so."""
    return any(entry.error == error for entry in slack.wire("api", method))


@pytest.mark.parametrize("refusal", ["", "ratelimited", "invalid_auth"])
def test_an_answer_that_was_lost_is_not_sent_twice(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace, refusal: str
) -> None:
    """Slack took the message and its answer was lost: it is found again, also where Slack then refuses to have it
    brought up to date."""
    ana.asks("status")
    eventually(lambda: nothing_waits(bot))
    slack.faults.fails_after_effect("chat.postMessage", "internal_error")

    ana.clicks("Propose", collected)
    eventually(lambda: is_answered(slack, "chat.postMessage", "internal_error"))
    if refusal:
        slack.faults.fails("chat.update", refusal)
        eventually(as_time_goes_on(bot, lambda: is_answered(slack, "chat.update", refusal)))
    eventually(as_time_goes_on(bot, lambda: proposal_is_sent(bot)))

    assert len(proposals(ana)) == 1


@pytest.mark.parametrize("is_refused", [False, True])
def test_what_nobody_can_look_for_is_marked(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace, is_refused: bool
) -> None:
    """The bot may not read history: the repetition names itself by its key, also where it is refused for the moment."""
    ana.asks("status")
    eventually(lambda: nothing_waits(bot))
    slack.faults.fails_after_effect("chat.postMessage", "internal_error")
    slack.faults.fails("conversations.history", "missing_scope", times=9)

    ana.clicks("Propose", collected)
    eventually(lambda: is_answered(slack, "chat.postMessage", "internal_error"))
    if is_refused:
        slack.faults.ratelimits("chat.postMessage", retry_after_s=1)
        eventually(as_time_goes_on(bot, lambda: is_answered(slack, "chat.postMessage", "ratelimited")))
    eventually(as_time_goes_on(bot, lambda: proposal_is_sent(bot)))

    assert ["It counts once: wl-1/proposal/" in text for text in proposals(ana)] == [False, True]


def test_a_slack_that_takes_no_container_gets_what_was_folded_below_its_title(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """At once, in the same try; what it refused is not tried again with the next message."""
    eventually(lambda: nothing_waits(bot))
    slack.faults.fails("chat.postMessage", "invalid_blocks")

    assert "container" in types_of(ana.card)
    proposal = ana.proposes()

    assert "container" not in types_of(proposal)
    assert "What will happen: " in proposal.plain
    ana.asks("note the card changes")
    eventually(lambda: "container" not in types_of(ana.card))


def types_of(message: SeenMessage) -> set[str]:
    return {block["type"] for block in message.blocks}


def test_a_card_of_which_one_update_was_refused_shows_what_comes_after(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Slack takes no part of that revision; the message stands there, and the next one may be fine."""
    eventually(lambda: nothing_waits(bot))
    slack.faults.fails("chat.update", "invalid_blocks")
    bot.services.evidence.run_now(IncidentId("wl-1"), "duplicate_rows")
    eventually(lambda: is_answered(slack, "chat.update", "invalid_blocks"))
    eventually(as_time_goes_on(bot, lambda: nothing_waits(bot)))

    ana.proposes()

    eventually(as_time_goes_on(bot, lambda: "Proposal: proposed" in ana.card.plain))


ANA = UserId("U0ANA00001")


def test_who_clicks_in_a_channel_without_having_joined_it_is_answered_directly(
    collected: SeenMessage, ana: Responder, ben: Responder, slack: Workspace
) -> None:
    """Slack shows a public channel, and its buttons, to everybody, and an answer to members only."""
    proposal = ana.proposes()
    slack.faults.removes(ONCALL, ben.id)

    ben.clicks("Approve", proposal)

    told = is_told(ben, TO_BEN, "so I answer here.")
    assert "You are not in" in told.plain
    assert "invite me" not in told.plain


@pytest.mark.parametrize(
    ("channel", "user", "names"), [("C0ONCALL01", ANA, True), (ANA, None, True), ("C0ONCALL01", None, False)]
)
def test_what_one_person_alone_is_shown_has_names(channel: str, user: UserId | None, names: bool) -> None:
    """By direct message as in the channel; where many read, nobody is notified by a text."""
    asked = Post(key="answer/x", incident=None, channel=channel, user=user, text="Ask <@U0BEN00002> in <#C0OPS00001>.")

    text, _blocks = render(asked, SimpleNamespace(clock=SystemClock()))  # type: ignore[arg-type]

    assert ("<@U0BEN00002>" in text, "<#C0OPS00001>" in text) == (names, names)


def test_an_answer_that_is_sent_directly_names_the_channel_and_people() -> None:
    """Not by raw ids."""
    answer = Post(key="answer/x", incident=None, channel="C0ONCALL01", user=ANA, text="Ask <@U0BEN00002>.")

    told, _blocks = render(directly(answer, "is_archived"), SimpleNamespace(clock=SystemClock()))  # type: ignore[arg-type]

    assert told.startswith("I cannot write in <#C0ONCALL01>.")
    assert told.endswith("Ask <@U0BEN00002>.")
