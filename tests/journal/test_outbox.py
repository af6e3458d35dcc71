"""The outbox: each message once, updates coalesced, refusals and crashes told."""

from contextlib import closing

import pytest

from bot.adapters.journal_sql import Store, open_store
from bot.domain.ids import UserId
from tests.journal.posts import LATER, card, sends, state
from tests.orders_table import NINE


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
    assert post is not None
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
    assert post is not None
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
    assert claimed is not None
    assert store.outbox.claim(NINE) is None

    store.outbox.sent("wl-1/card", claimed.wanted, "1.1")
    store.outbox.sent("wl-1/card", claimed.wanted, "1.1")

    following = store.outbox.claim(NINE)
    assert following is not None
    assert (following.wanted, following.shown) == (2, 1)


def test_a_late_word_of_an_old_revision_changes_nothing(store: Store) -> None:
    """`sent` for a revision that was overtaken neither goes back nor frees a post that is being sent."""
    store.outbox.put(card())
    sends(store)
    store.outbox.touch("wl-1/card")
    store.outbox.claim(NINE)

    store.outbox.sent("wl-1/card", 1, "9.9")

    post = store.outbox.find("wl-1/card")
    assert post is not None
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
    assert following is not None
    assert (following.wanted, following.shown, following.ts) == (3, 1, "1.1")


def test_a_refused_message_is_not_repeated(store: Store) -> None:
    """It stays with its problem; neither time nor a change brings it back."""
    store.outbox.put(card())
    store.outbox.claim(NINE)

    store.outbox.failed("wl-1/card", 1, "channel_not_found")
    store.outbox.touch("wl-1/card")

    post = store.outbox.find("wl-1/card")
    assert post is not None
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

        assert again is not None
        assert (again.key, again.tries, again.problem) == ("b", 2, "interrupted")
