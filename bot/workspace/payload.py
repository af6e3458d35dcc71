"""The one loose type of the workspace: a JSON object as Slack sends and receives it.

The workspace is a wire, so it keeps what was sent as it was sent.
Whatever the workspace decides on (people, limits, deliveries, entries of the wire log) is a typed record.
"""

from typing import Any, TypeAlias

Payload: TypeAlias = dict[str, Any]
