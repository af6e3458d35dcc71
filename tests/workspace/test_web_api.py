"""The Web API answers and refuses as Slack does."""

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.workspace import Actor, CannotDo, Workspace
from tests.workspace.asking import GENERAL, ONCALL, refusal
from tests.workspace.blocks import section

ANA, DANA = "U0ANA00001", "U0DANA0004"


def test_a_token_is_known_and_names_the_bot(client: WebClient) -> None:
    """auth.test says whose token it is, with the ids that messages carry."""
    answer = client.auth_test()

    assert answer["user_id"] == "U0W4T3RL1NE"
    assert answer["bot_id"] == "B0W4T3RL1NE"


@pytest.mark.parametrize(
    ("token", "error"), [("xoxb-of-somebody-else", "invalid_auth"), ("", "not_authed")], ids=["wrong", "none"]
)
def test_a_wrong_token_is_refused(ws: Workspace, token: str, error: str) -> None:
    """Nothing is answered without the right token."""
    stranger = WebClient(token, base_url=ws.api_url)

    assert error == refusal(stranger.auth_test)


def test_tokens_are_not_interchangeable(ws: Workspace, client: WebClient) -> None:
    """The app-level token opens connections and nothing else; the bot token opens none."""
    app_client = WebClient(ws.app_token, base_url=ws.api_url)

    assert refusal(app_client.chat_postMessage, channel=ONCALL, text="hi") == "not_allowed_token_type"
    assert refusal(client.apps_connections_open, app_token=ws.bot_token) == "not_allowed_token_type"


def test_an_unknown_method_is_refused(client: WebClient) -> None:
    """A method that the workspace does not know is said to be unknown."""
    assert refusal(client.api_call, api_method="chat.teleport") == "unknown_method"


def test_a_scope_that_the_manifest_lacks_is_refused() -> None:
    """With the manifest's scopes the bot is held to them, and told which one is missing."""
    with Workspace(scopes=frozenset({"commands"})).serve() as ws:
        client = WebClient(ws.bot_token, base_url=ws.api_url)

        with pytest.raises(SlackApiError) as refused:
            client.chat_postMessage(channel=ONCALL, text="hi")

    assert refused.value.response["error"] == "missing_scope"
    assert refused.value.response["needed"] == "chat:write"


def test_a_message_is_posted_and_updated(client: WebClient, ana: Actor) -> None:
    """An update keeps the time stamp."""
    ts = client.chat_postMessage(channel=ONCALL, text="one")["ts"]

    client.chat_update(channel=ONCALL, ts=ts, text="two")

    assert [("two", ts, True)] == [(m.plain, m.ts, m.is_edited) for m in ana.messages()]


def test_an_update_without_blocks_keeps_them(client: WebClient, ana: Actor) -> None:
    """Blocks stay when they are not given; an empty list removes them."""
    ts = client.chat_postMessage(channel=ONCALL, text="one", blocks=[section("body")])["ts"]

    client.chat_update(channel=ONCALL, ts=ts, text="two")
    kept = ana.last_message().plain
    client.chat_update(channel=ONCALL, ts=ts, text="three", blocks=[])

    assert kept == "body"
    assert ana.last_message().plain == "three"


@pytest.mark.parametrize(
    ("channel", "error"),
    [("C0NOWHERE1", "channel_not_found"), ("#nowhere", "channel_not_found"), (GENERAL, "not_in_channel")],
)
def test_the_bot_posts_only_where_it_is(client: WebClient, channel: str, error: str) -> None:
    """A channel that is unknown, or that the bot is not in, is refused."""
    assert error == refusal(client.chat_postMessage, channel=channel, text="hi")


def test_a_message_needs_something_to_say(client: WebClient) -> None:
    """Neither text nor blocks is no message."""
    empty = {"channel": ONCALL, "text": ""}

    assert refusal(client.api_call, api_method="chat.postMessage", json=empty) == "no_text"


@pytest.mark.parametrize(("method", "most"), [("chat_postMessage", 40_000), ("chat_update", 4_000)])
def test_a_text_may_be_too_long(client: WebClient, method: str, most: int) -> None:
    """The longest text is taken, one character more is not."""
    ts = client.chat_postMessage(channel=ONCALL, text="start")["ts"]
    more = {"ts": ts} if method == "chat_update" else {}
    call = getattr(client, method)

    call(channel=ONCALL, text="x" * most, **more)

    assert refusal(call, channel=ONCALL, text="x" * (most + 1), **more) == "msg_too_long"


def test_only_own_messages_can_be_changed(client: WebClient, ana: Actor) -> None:
    """What a person said cannot be edited by the bot."""
    said = ana.says("mine")

    assert refusal(client.chat_update, channel=ONCALL, ts=said.ts, text="yours") == "cant_update_message"


def test_an_ephemeral_message_is_for_one_member(client: WebClient, ana: Actor, ben: Actor) -> None:
    """Only that person sees it; a person who is not in the channel cannot get one; it cannot be updated."""
    ts = client.chat_postEphemeral(channel=ONCALL, user=ANA, text="psst")["message_ts"]

    assert [m.plain for m in ana.messages()] == ["psst"]
    assert ben.messages() == []
    assert refusal(client.chat_postEphemeral, channel=ONCALL, user=DANA, text="psst") == "user_not_in_channel"
    assert refusal(client.chat_update, channel=ONCALL, ts=ts, text="louder") == "message_not_found"


def test_a_thread_has_a_root(client: WebClient, ana: Actor) -> None:
    """Replies stay in the thread; a root that does not exist is refused."""
    root = client.chat_postMessage(channel=ONCALL, text="root")["ts"]
    client.chat_postMessage(channel=ONCALL, text="reply", thread_ts=root)

    assert [m.plain for m in ana.messages()] == ["root"]
    assert [m.plain for m in ana.messages()[0].replies] == ["reply"]
    assert refusal(client.chat_postMessage, channel=ONCALL, text="x", thread_ts="1.000001") == "thread_not_found"


def test_history_has_no_ephemerals_and_no_replies(client: WebClient) -> None:
    """The bot reads the channel newest first, the thread root first."""
    root = client.chat_postMessage(channel=ONCALL, text="root", metadata={"event_type": "e", "event_payload": {"k": 1}})
    client.chat_postMessage(channel=ONCALL, text="reply", thread_ts=root["ts"])
    client.chat_postEphemeral(channel=ONCALL, user=ANA, text="psst")
    client.chat_postMessage(channel=ONCALL, text="last")

    history = client.conversations_history(channel=ONCALL, include_all_metadata=True)["messages"]
    replies = client.conversations_replies(channel=ONCALL, ts=root["ts"])["messages"]

    assert [m["text"] for m in history] == ["last", "root"]
    assert history[1]["metadata"] == {"event_type": "e", "event_payload": {"k": 1}}
    assert [m["text"] for m in replies] == ["root", "reply"]


def test_history_comes_in_pages(client: WebClient) -> None:
    """A cursor leads on; the last page has none."""
    for number in range(3):
        client.chat_postMessage(channel=ONCALL, text=str(number))

    first = client.conversations_history(channel=ONCALL, limit=2)
    second = client.conversations_history(channel=ONCALL, limit=2, cursor=first["response_metadata"]["next_cursor"])

    assert [m["text"] for m in first["messages"]] == ["2", "1"]
    assert [m["text"] for m in second["messages"]] == ["0"]
    assert not second["has_more"]


def test_people_and_groups_are_found(client: WebClient) -> None:
    """A person has a display name, the approvers' group has its members."""
    person = client.users_info(user=ANA)["user"]

    assert person["profile"]["display_name"] == "Ana Ribeiro"
    assert client.usergroups_users_list(usergroup="S0APPROVE1")["users"] == ["U0BEN00002", "U0CLEO0003"]
    assert refusal(client.users_info, user="U0NOBODY01") == "user_not_found"


def test_a_direct_message_reaches_one_person(client: WebClient, ana: Actor, ben: Actor) -> None:
    """Posting to a person opens a conversation that nobody else sees."""
    channel = client.chat_postMessage(channel=ANA, text="just us")["channel"]

    assert [m.plain for m in ana.messages(channel)] == ["just us"]
    with pytest.raises(CannotDo, match="cannot see"):
        ben.messages(channel)


def test_a_file_is_uploaded_in_three_steps(client: WebClient, ana: Actor) -> None:
    """The SDK's upload arrives as a message with a file; its bytes can be fetched."""
    client.files_upload_v2(channel=ONCALL, filename="record.md", content="# Incident 7", initial_comment="the record")

    message = ana.last_message()

    assert message.plain == "the record"
    assert [(f["name"], f["size"]) for f in message.shown["files"]] == [("record.md", 12)]


def test_a_permalink_leads_to_the_page(ws: Workspace, client: WebClient) -> None:
    """The address of a message is on the page, in Slack's form."""
    ts = client.chat_postMessage(channel=ONCALL, text="x")["ts"]

    link = client.chat_getPermalink(channel=ONCALL, message_ts=ts)["permalink"]

    assert link == f"{ws.url}/archives/{ONCALL}/p{ts.replace('.', '')}"
