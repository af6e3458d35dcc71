"""Processes that work on a record, to be raced and killed. Run as `python -m tests.journal.writers URL WHAT`."""

import sys
import threading
from datetime import timedelta

from bot.adapters.journal_sql import open_store
from bot.incident.entries import ExecutionStarted, NoteAdded
from bot.observation.errors import JournalMoved, Refused
from bot.observation.ids import IncidentId, ProposalId
from bot.ports import Delivery
from tests.orders_table import NINE

INCIDENT = IncidentId("wl-1")


def write_until_killed(url: str) -> None:
    """Append note after note; a seq is printed only once it is acknowledged."""
    store = open_store(url)
    seq = store.journal.entries(INCIDENT)[-1].seq
    while True:
        note = NoteAdded(text=f"note {seq + 1}")
        seq = store.journal.append(INCIDENT, seq, [note], by="waterline", at=NINE)[-1].seq
        store.inbox.put(Delivery(key=str(seq), kind="event", payload="{}", received_at=NINE))
        print(seq, flush=True)  # noqa: T201 - the parent reads it


def start_execution(url: str) -> None:
    """Try once to begin the execution of one proposal, after whatever entry is the last; tell how it went."""
    store = open_store(url)
    print("ready", flush=True)  # noqa: T201
    sys.stdin.readline()
    for _ in range(20):
        seq = store.journal.entries(INCIDENT)[-1].seq
        try:
            body = ExecutionStarted(proposal=ProposalId("p"))
            store.journal.append(INCIDENT, seq, [body], by="waterline", at=NINE)
        except JournalMoved:
            continue
        except Refused:
            print("refused", flush=True)  # noqa: T201
            return
        print("won", flush=True)  # noqa: T201
        return


def take_and_wait(url: str) -> None:
    """A replica: take a delivery and a post, tell their keys and whether it leads, and hold them for ever."""
    store = open_store(url)
    delivery = store.inbox.claim(NINE)
    post = store.outbox.claim(NINE + timedelta(hours=1))
    print(f"{delivery and delivery.key} {post and post.key} {store.presence.is_leader()}", flush=True)  # noqa: T201
    threading.Event().wait()


if __name__ == "__main__":
    does = {"write": write_until_killed, "execute": start_execution, "take": take_and_wait}
    does[sys.argv[2]](sys.argv[1])
