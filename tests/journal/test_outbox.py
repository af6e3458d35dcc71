"""The outbox: each message once, updates coalesced, what waits, and any sequence of these.

Messages for the outbox, and what it says of them.
"""

import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from bot.adapters.journal_sql import Store, open_store
from bot.observation.ids import IncidentId, UserId
from bot.ports import Post
from tests.orders_table import NINE

LATER = NINE + timedelta(seconds=30)


def card(key: str = "wl-1/card", **changes: object) -> Post:
    """A message into the incident's channel."""
    return Post(key=key, incident=IncidentId("wl-1"), channel="C0ORDERS01").model_copy(update=changes)


def sends(store: Store, ts: str | None = "1.1") -> Post:
    """The next message that is due arrives in Slack."""
    post = store.outbox.claim(NINE)
    store.outbox.sent(post.key, post.wanted, ts)
    return post


def state(store: Store, key: str = "wl-1/card") -> str:
    """How it stands with this message."""
    post = store.outbox.find(key)
    return post.state


def test_a_message_is_put_once(store: Store) -> None:
    """The same key again changes nothing, before and after it was sent."""
    put = [store.outbox.put(card(text="first")), store.outbox.put(card(text="second"))]
    sent = sends(store)
    put.append(store.outbox.put(card(text="third")))

    assert put == [True, False, False]
    assert sent.text == "first"
    assert store.outbox.claim(LATER) is None


@pytest.mark.parametrize(("lost", "tries"), [(0, 1), (2, 3)])
def test_what_was_refused_is_sent_again_only_when_it_is_asked_for(store: Store, lost: int, tries: int) -> None:
    """The refused try left nothing behind and is not counted; those whose answer was lost are."""
    store.outbox.put(card())
    for _ in range(lost):
        store.outbox.claim(NINE)
        store.outbox.postpone("wl-1/card", NINE, "internal_error", whole_channel=False)
    store.outbox.claim(NINE)
    store.outbox.failed("wl-1/card", 1, "not_in_channel")
    before = store.outbox.claim(LATER)

    store.outbox.again("wl-1/card")
    store.outbox.again("wl-1/card")

    post = store.outbox.claim(LATER)
    assert before is None
    assert post.tries == tries
    store.outbox.sent("wl-1/card", post.wanted, "1.1")
    store.outbox.again("wl-1/card")
    assert state(store) == "sent"


def test_what_is_wanted_again_while_its_refusal_is_written_is_not_lost(store: Store) -> None:
    """The refusal is told before the post is marked: somebody may have asked for it once more in between."""
    store.outbox.put(card())
    store.outbox.claim(NINE)
    store.outbox.again("wl-1/card")

    store.outbox.failed("wl-1/card", 1, "not_in_channel")

    post = store.outbox.claim(LATER)
    assert post.tries == 1


def test_touches_are_coalesced_to_the_newest_revision(store: Store) -> None:
    """Five changes while a message waits are one update."""
    store.outbox.put(card())
    sends(store)
    for _ in range(5):
        store.outbox.touch("wl-1/card")

    update = sends(store)

    assert (update.wanted, update.shown, update.ts) == (6, 1, "1.1")
    assert store.outbox.claim(LATER) is None


def test_a_touch_while_sending_is_sent_afterwards(store: Store) -> None:
    """What changes while a revision is on its way is not taken for shown."""
    store.outbox.put(card())
    claimed = store.outbox.claim(NINE)
    store.outbox.touch("wl-1/card")
    assert store.outbox.claim(NINE) is None

    store.outbox.sent("wl-1/card", claimed.wanted, "1.1")
    store.outbox.sent("wl-1/card", claimed.wanted, "1.1")

    following = store.outbox.claim(NINE)
    assert (following.wanted, following.shown) == (2, 1)


def test_a_late_word_of_an_old_revision_changes_nothing(store: Store) -> None:
    """`sent` for a revision that was overtaken neither goes back nor frees a post that is being sent."""
    store.outbox.put(card())
    sends(store)
    store.outbox.touch("wl-1/card")
    store.outbox.claim(NINE)

    store.outbox.sent("wl-1/card", 1, "9.9")

    post = store.outbox.find("wl-1/card")
    assert (post.state, post.shown, post.ts) == ("sending", 1, "1.1")


def test_an_unknown_message_cannot_be_touched(store: Store) -> None:
    """A change to something that was never to be shown is no message."""
    store.outbox.touch("wl-9/card")

    assert store.outbox.find("wl-9/card") is None
    assert store.outbox.claim(NINE) is None


def test_an_ephemeral_message_is_never_updated(store: Store) -> None:
    """Slack cannot update what only one person saw."""
    store.outbox.put(card(user=UserId("U0EVE00001"), text="You are not an approver."))
    sends(store, ts=None)

    store.outbox.touch("wl-1/card")

    assert state(store) == "sent"
    assert store.outbox.claim(LATER) is None


def test_after_a_refused_update_the_next_revision_is_sent(store: Store) -> None:
    """The message stands in the channel with its old state, perhaps with buttons: only this revision was refused."""
    store.outbox.put(card())
    sends(store)
    store.outbox.touch("wl-1/card")
    store.outbox.claim(NINE)
    store.outbox.failed("wl-1/card", 2, "invalid_blocks")

    store.outbox.touch("wl-1/card")

    following = store.outbox.claim(NINE)
    assert (following.wanted, following.shown, following.ts) == (3, 1, "1.1")


def test_a_refused_message_is_not_repeated(store: Store) -> None:
    """It stays with its problem; neither time nor a change brings it back."""
    store.outbox.put(card())
    store.outbox.claim(NINE)

    store.outbox.failed("wl-1/card", 1, "channel_not_found")
    store.outbox.touch("wl-1/card")

    post = store.outbox.find("wl-1/card")
    assert (post.state, post.problem, post.wanted) == ("failed", "channel_not_found", 1)
    assert store.outbox.claim(LATER) is None


def test_what_was_being_sent_at_a_crash_is_queued_with_its_tries(store: Store, url: str) -> None:
    """It may or may not have arrived: whoever sends it next can tell by its tries that somebody else was at it."""
    for key in ("a", "b"):
        store.outbox.put(card(key))
    sends(store)
    store.outbox.claim(NINE)
    store.close()

    with closing(open_store(url)) as restarted:
        again = restarted.outbox.claim(NINE)

        assert (again.key, again.tries, again.problem) == ("b", 2, "interrupted")


def test_a_postponed_message_waits_its_time(store: Store) -> None:
    """Exactly at its time it is due again; other posts of the channel need not wait."""
    store.outbox.put(card())
    store.outbox.put(card("wl-1/other"))
    store.outbox.claim(NINE)

    store.outbox.postpone("wl-1/card", LATER, "network", whole_channel=False)

    assert sends(store).key == "wl-1/other"
    assert store.outbox.claim(LATER - timedelta(microseconds=1)) is None
    again = store.outbox.claim(LATER)
    assert (again.key, again.tries, again.problem) == ("wl-1/card", 2, "network")


def test_a_paused_channel_holds_all_its_posts(store: Store) -> None:
    """After a 429 nothing goes to that channel until its time, and everything else goes on; twice."""
    for key, channel in (("a", "C1"), ("b", "C1"), ("c", "C2")):
        store.outbox.put(card(key, channel=channel))

    store.outbox.claim(NINE)
    store.outbox.postpone("a", LATER, "429", whole_channel=True)

    elsewhere = store.outbox.claim(NINE)
    assert elsewhere.key == "c"
    assert store.outbox.claim(LATER - timedelta(microseconds=1)) is None
    claimed = store.outbox.claim(LATER)
    assert claimed.key == "a"
    store.outbox.postpone("a", LATER + timedelta(seconds=60), "429", whole_channel=True)
    store.outbox.put(card("d", channel="C1"))
    assert store.outbox.claim(LATER + timedelta(seconds=59)) is None


def test_a_reply_waits_for_its_thread(store: Store) -> None:
    """A reply never goes out before the message that it belongs to."""
    store.outbox.put(card("wl-1/reply", thread_of="wl-1/card"))
    store.outbox.put(card())

    order = [sends(store).key for _ in range(2)]

    assert order == ["wl-1/card", "wl-1/reply"]


@pytest.mark.parametrize("root", ["failed", "absent"])
def test_a_reply_whose_thread_will_never_begin_goes_out_alone(store: Store, root: str) -> None:
    """What is to be said is said, even where its thread's message was refused."""
    store.outbox.put(card("wl-1/reply", thread_of="wl-1/card"))
    if root == "failed":
        store.outbox.put(card())
        store.outbox.claim(NINE)
        store.outbox.failed("wl-1/card", 1, "invalid_blocks")

    claimed = store.outbox.claim(NINE)

    assert claimed.key == "wl-1/reply"


def test_one_message_at_a_time_goes_to_a_channel(store: Store) -> None:
    """Senders side by side never overtake each other: who sends second waits for the first to end."""
    for key, channel in (("a", "C1"), ("b", "C1"), ("c", "C2")):
        store.outbox.put(card(key, channel=channel))

    with ThreadPoolExecutor(4) as threads:
        claimed = [post.key for post in threads.map(lambda _: store.outbox.claim(NINE), range(4)) if post]
    store.outbox.sent("a", 1, "1.1")
    following = store.outbox.claim(NINE)

    assert sorted(claimed) == ["a", "c"]
    assert following.key == "b"


def test_a_channel_pauses_from_the_moment_that_a_message_counts_as_sent(store: Store) -> None:
    """The pace holds whoever sends next."""
    for key in ("a", "b"):
        store.outbox.put(card(key))
    store.outbox.claim(NINE)

    store.outbox.sent("a", 1, "1.1", pause_until=LATER)

    assert store.outbox.claim(LATER - timedelta(microseconds=1)) is None
    assert store.outbox.claim(LATER) is not None


def test_a_clock_that_was_put_back_silences_nobody(store: Store) -> None:
    """Waits that were written by a clock an hour ahead are over when it is set right; honest ones are kept."""
    for key, channel in (("a", "C1"), ("b", "C2"), ("c", "C3")):
        store.outbox.put(card(key, channel=channel))
        store.outbox.claim(NINE)
    store.outbox.postpone("a", NINE + timedelta(hours=1), "429", whole_channel=True)
    store.outbox.postpone("b", NINE + timedelta(hours=1), "network", whole_channel=False)
    store.outbox.postpone("c", NINE + timedelta(minutes=15), "429", whole_channel=True)

    claimed = [post.key for _ in range(3) if (post := store.outbox.claim(NINE))]

    assert claimed == ["a", "b"]


def test_what_one_person_alone_is_to_see_does_not_wait_for_a_pause(store: Store) -> None:
    """Who asked where the bot cannot write any more would wait with the channel's messages."""
    store.outbox.put(card())
    store.outbox.put(card("answer/1", incident=None, user=UserId("U1"), text="Yes."))
    store.outbox.claim(NINE)
    store.outbox.postpone("wl-1/card", LATER, "not_in_channel", whole_channel=True)

    claimed = store.outbox.claim(NINE)

    assert claimed.key == "answer/1"


@pytest.mark.parametrize("how", ["sent", "refused for a shorter time"])
def test_what_passes_a_pause_by_does_not_end_it(store: Store, how: str) -> None:
    """Slack asked for a while: an answer to one person, who does not wait, leaves the channel's messages that while."""
    store.outbox.put(card())
    store.outbox.put(card("answer/1", incident=None, user=UserId("U1"), text="Yes."))
    store.outbox.claim(NINE)
    store.outbox.postpone("wl-1/card", LATER, "ratelimited", whole_channel=True)
    store.outbox.claim(NINE)

    if how == "sent":
        store.outbox.sent("answer/1", 1, None, pause_until=NINE + timedelta(seconds=1))
    else:
        store.outbox.postpone("answer/1", NINE + timedelta(seconds=1), "ratelimited", whole_channel=True)
        store.outbox.claim(NINE + timedelta(seconds=1))
        store.outbox.failed("answer/1", 1, "is_archived")

    store.outbox.put(card("wl-1/other"))
    assert store.outbox.claim(LATER - timedelta(microseconds=1)) is None
    assert store.outbox.claim(LATER) is not None


def test_an_answer_to_one_person_begins_no_pause(store: Store) -> None:
    """The channel's next message does not wait for it."""
    store.outbox.put(card("answer/1", incident=None, user=UserId("U1"), text="Yes."))
    store.outbox.put(card())
    store.outbox.claim(NINE)

    store.outbox.sent("answer/1", 1, None, pause_until=LATER)

    assert store.outbox.claim(NINE) is not None


def test_a_pause_by_a_clock_that_was_put_back_is_written_anew(store: Store) -> None:
    """The wrong one, which nobody believes, does not keep the right one out."""
    for key in ("a", "b"):
        store.outbox.put(card(key))
    store.outbox.claim(NINE)
    store.outbox.postpone("a", NINE + timedelta(hours=1), "429", whole_channel=True)
    store.outbox.claim(NINE)

    store.outbox.sent("a", 1, "1.1", pause_until=LATER)

    assert store.outbox.claim(LATER - timedelta(microseconds=1)) is None
    assert store.outbox.claim(LATER) is not None


KEYS = st.sampled_from(["a", "b", "c"])


@dataclass
class _Expected:
    state: str = "queued"
    wanted: int = 1
    shown: int = 0
    claimed: int = 0


class OutboxMachine(RuleBasedStateMachine):
    """What must hold: no revision is lost, none is sent twice without a crash, order is that of being put."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.url = f"sqlite:///{Path(self.folder.name) / 'record.db'}"
        self.store = open_store(self.url)
        self.outbox = self.store.outbox
        self.expected: dict[str, _Expected] = {}

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()

    @rule(key=KEYS)
    def put(self, key: str) -> None:
        """A key is taken once."""
        assert self.outbox.put(Post(key=key, incident=None, channel="C1")) is (key not in self.expected)
        self.expected.setdefault(key, _Expected())

    @rule(key=KEYS)
    def touch(self, key: str) -> None:
        """One more revision, whatever is going on."""
        self.outbox.touch(key)
        post = self.expected.get(key)
        if post and (post.state != "failed" or post.shown):
            post.wanted += 1
            post.state = "queued" if post.state in {"sent", "failed"} else post.state

    @rule()
    def claim(self) -> None:
        """The first queued post, unless another one is on its way to their channel."""
        post = self.outbox.claim(NINE)
        queued = [key for key, each in self.expected.items() if each.state == "queued"]
        if any(each.state == "sending" for each in self.expected.values()):
            queued = []
        assert (post.key if post else None) == (queued[0] if queued else None)
        if post:
            expected = self.expected[post.key]
            assert post.wanted == expected.wanted
            assert post.wanted > expected.shown
            expected.state, expected.claimed = "sending", post.wanted

    @rule(key=KEYS)
    def accepted(self, key: str) -> None:
        """Slack took what was claimed, perhaps told twice."""
        post = self.expected.get(key)
        if post and post.state == "sending":
            self.outbox.sent(key, post.claimed, "1.1")
            post.shown = post.claimed
            post.state = "queued" if post.wanted > post.shown else "sent"
            self.outbox.sent(key, post.claimed, "1.1")

    @rule(key=KEYS)
    def not_now(self, key: str) -> None:
        """429, or a crash that was looked into."""
        post = self.expected.get(key)
        self.outbox.postpone(key, NINE - timedelta(seconds=1), "429", whole_channel=True)
        if post and post.state == "sending":
            post.state = "queued"

    @rule(key=KEYS)
    def refused(self, key: str) -> None:
        """Slack will never take it."""
        post = self.expected.get(key)
        if post and post.state == "sending":
            self.outbox.failed(key, post.claimed, "invalid_blocks")
            post.state = "queued" if post.wanted > post.claimed else "failed"

    @rule(key=KEYS)
    def again(self, key: str) -> None:
        """What was refused is wanted once more; nothing else moves."""
        post = self.expected.get(key)
        self.outbox.again(key)
        if post and post.state == "failed":
            post.state = "queued"
        elif post and post.state == "sending":
            post.wanted += 1

    @rule()
    def dies_and_starts(self) -> None:
        """What was on its way is queued again."""
        self.store.close()
        self.store = open_store(self.url)
        self.outbox = self.store.outbox
        self.store.presence.join()
        for post in self.expected.values():
            post.state = "queued" if post.state == "sending" else post.state

    @invariant()
    def agrees(self) -> None:
        """Every row is what the few lines of Python say."""
        for key, expected in self.expected.items():
            post = self.outbox.find(key)
            assert (post.state, post.wanted, post.shown) == (expected.state, expected.wanted, expected.shown)


TestOutboxSequences = OutboxMachine.TestCase
TestOutboxSequences.settings = settings(
    max_examples=8, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
