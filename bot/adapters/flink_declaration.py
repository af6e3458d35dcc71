"""What a start submits as it is declared, told by a digest: it changes with whatever would be submitted."""

import hashlib
import json
from collections.abc import Mapping


def digest_of(declared: Mapping[str, object]) -> str:
    """64 hex digits, the same for the same declaration in any order of its keys. Statements may hold secrets: nothing
    else of them is told."""
    told = json.dumps(declared, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(told.encode()).hexdigest()
