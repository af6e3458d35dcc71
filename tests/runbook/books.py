"""Small runbooks to break: one of own steps, one that draws its steps in, and the words that the application knows."""

from bot.observation.evidence import Task
from bot.runbook.lint import Vocabulary
from bot.runbook.progress import NO_MATCH


def task(name: str) -> Task:
    """As a module of `spark_tasks/` declares it."""
    title = name.replace("_", " ").capitalize()
    said = {"confirmed_means": f"there are {name}", "ruled_out_means": f"there are no {name}"}
    return Task(name=name, title=title, question="Is it?", needs=("table",), cost="nothing", **said)


SHARED = """---
proof: [duplicate_rows, missing_positions]
---

### Diagnose

Read the reasons.

```step
id: name-it
kind: decision
on: remedy
branches: {nothing: review, no-match: call}
next: repair
```

### Propose the repair

{repair}
Read the preview.

```step
id: repair
kind: action
action: diagnosis.remedy
branches: {applied: look-again}
next: call
```

### Look again

Late is not missing.

```step
id: look-again
kind: proof
passed: tell
failed: what-is-left
```

### Diagnose what is left

Read the reasons.

```step
id: what-is-left
kind: decision
on: remedy
branches: {nothing: call, no-match: call}
next: call
```

### Call the owners

Leave it as it is.
{help}

```step
id: call
kind: manual
next: review
```

### Tell consumers

Read the preview.

```step
id: tell
kind: notice
notice: recovered
```

### Review the contracts

Write one action for each term.

```step
id: review
kind: review
next: end
```
"""

SHORT = """---
title: The table looks odd
applies_to: ["*"]
owners: [data-platform]
evidence: [ledger, duplicate_rows]
then: recover
---

## Meaning

Somebody saw something.

## Impact

Not known yet.

## Before you look

Touch nothing.

## Reading the evidence

- ledger: Look for a second run.
- duplicate_rows, OK: Ask the consumer.

## Repair

Move table and job together.

## Whom to call

Ask who deployed.
"""

KNOWN = Vocabulary(
    tasks={name: task(name) for name in ("ledger", "duplicate_rows", "missing_positions", "checkpoint_pairing")},
    shared={"_recover.md": SHARED},
    actions=frozenset({"roll_back_table_and_restore_job"}),
    notices=frozenset({"warning", "recovered", "no_action", "update"}),
    codes=frozenset({"F2", "F3", "F6", "healthy", "wait"}),
)

RIGHT = f"""---
title: Consumers see rows twice
applies_to: ["*"]
owners: [data-platform]
---

## Meaning

A job was restored from too far back.

## Impact

Sums are too high.

## Steps

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

### Diagnose

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

### Propose the rollback

Read the preview.

```step
id: rewind
kind: action
action: roll_back_table_and_restore_job
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

### Count again

Each key once.

```step
id: count-again
kind: evidence
task: duplicate_rows
next: tell
```

### Tell consumers

Read the preview.

```step
id: tell
kind: notice
notice: recovered
next: review
```

### Review the contracts

Write one action for each term.

```step
id: review
kind: review
next: end
```
"""


def with_change(old: str, new: str, text: str = RIGHT) -> str:
    """One thing made wrong; `old` must be there once."""
    assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
    return text.replace(old, new)


def line_of(text: str, part: str) -> int:
    """1-based number of the first line that holds `part`."""
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)
