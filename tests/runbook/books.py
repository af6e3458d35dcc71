"""Small runbooks to break: one that is right, and the words that the application knows."""

from bot.runbook.lint import Vocabulary
from bot.runbook.outcomes import NO_MATCH

KNOWN = Vocabulary(
    tasks=frozenset({"ledger", "duplicate_rows", "missing_positions", "checkpoint_pairing"}),
    actions=frozenset({"rewind_table_and_job"}),
    notices=frozenset({"first_warning", "recovered", "no_action_needed", "update"}),
    codes=frozenset({"F2", "F3", "F6", "healthy", "wait"}),
)

RIGHT = f"""---
id: rows-twice
title: Consumers see rows twice
version: 3
applies_to: ["*"]
owners: [data-platform]
---

## Meaning

A job was restored from too far back.

## Impact

Sums are too high.

## Diagnosis

Touch nothing.

### Count the duplicate rows

Look at the pairs.

```step
id: count
kind: evidence
task: duplicate_rows
branches:
  ruled-out: review
next: name-it
```

### Name what happened

Read the reasons.

```step
id: name-it
kind: decision
on: diagnosis
branches:
  F2: rewind
  {NO_MATCH}: planned
next: planned
```

### Ask whether it was planned

Ask in the team's channel.

```step
id: planned
kind: decision
on: choice
choices:
  yes: It was planned
  no: Nobody planned it
branches:
  yes: review
  no: rewind
```

## Mitigation

Together or not at all.

### Propose the rewind

Read the preview.

```step
id: rewind
kind: action
action: rewind_table_and_job
branches:
  applied: count-again
next: call
```

### Call the owners

Leave it as it is.

```step
id: call
kind: manual
next: review
```

## Verification

Look again.

### Count again

Each key once.

```step
id: count-again
kind: evidence
task: duplicate_rows
next: tell
```

## Communication

One clear sentence.

### Tell consumers

Read the preview.

```step
id: tell
kind: notice
notice: recovered
next: review
```

## Review

What was promised?

### Review the contracts

Write one action for each term.

```step
id: review
kind: review
next: end
```
"""


def with_change(old: str, new: str) -> str:
    """The right runbook with one thing made wrong; `old` must be there once."""
    assert RIGHT.count(old) == 1, f"{old!r} is there {RIGHT.count(old)} times"
    return RIGHT.replace(old, new)


def line_of(text: str, part: str) -> int:
    """1-based number of the first line that holds `part`."""
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)
