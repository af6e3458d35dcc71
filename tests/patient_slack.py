"""Slack as most tests have it: it waits longer for an app than a busy computer needs.

Slack's own three seconds are for the tests that are about them; they say so with `faults.sets_rules`.
"""

from bot.workspace import Rules

PATIENT = Rules(ack_s=60, trigger_s=60)
