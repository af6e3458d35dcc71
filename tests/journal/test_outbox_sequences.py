"""Any sequence of puts, touches, sends, refusals and crashes: the outbox agrees with a few lines of Python."""

import tempfile
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from bot.adapters.journal_sql import open_store
from bot.ports import Post
from tests.orders_table import NINE

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
            assert post is not None
            assert (post.state, post.wanted, post.shown) == (expected.state, expected.wanted, expected.shown)


TestOutboxSequences = OutboxMachine.TestCase
TestOutboxSequences.settings = settings(
    max_examples=8, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
