"""What waits in the outbox, and for how long: a pause, a thread, a message before it, a clock."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from bot.adapters.journal_sql import Store
from bot.domain.ids import UserId
from tests.journal.posts import LATER, card, sends
from tests.orders_table import NINE


def test_a_postponed_message_waits_its_time(store: Store) -> None:
    """Exactly at its time it is due again; other posts of the channel need not wait."""
    store.outbox.put(card())
    store.outbox.put(card("wl-1/other"))
    store.outbox.claim(NINE)

    store.outbox.postpone("wl-1/card", LATER, "network", whole_channel=False)

    assert sends(store).key == "wl-1/other"
    assert store.outbox.claim(LATER - timedelta(microseconds=1)) is None
    again = store.outbox.claim(LATER)
    assert again is not None
    assert (again.key, again.tries, again.problem) == ("wl-1/card", 2, "network")


def test_a_paused_channel_holds_all_its_posts(store: Store) -> None:
    """After a 429 nothing goes to that channel until its time, and everything else goes on; twice."""
    for key, channel in (("a", "C1"), ("b", "C1"), ("c", "C2")):
        store.outbox.put(card(key, channel=channel))

    store.outbox.claim(NINE)
    store.outbox.postpone("a", LATER, "429", whole_channel=True)

    elsewhere = store.outbox.claim(NINE)
    assert elsewhere is not None
    assert elsewhere.key == "c"
    assert store.outbox.claim(LATER - timedelta(microseconds=1)) is None
    claimed = store.outbox.claim(LATER)
    assert claimed is not None
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

    assert claimed is not None
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
    assert following is not None
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

    assert claimed is not None
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
