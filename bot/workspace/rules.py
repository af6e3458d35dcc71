"""Slack's time limits and quotas, as one record that a test may tighten.

Sources: docs.slack.dev on interactivity (acknowledge within 3 s, trigger_id 3 s and one use, response_url five posts
within 30 minutes), on the Events API (three retries: at once, after one minute, after five minutes) and on modals.
"""

from pydantic import BaseModel, ConfigDict, Field


class Rules(BaseModel):
    """What Slack allows a Slack app, in seconds and counts."""

    model_config = ConfigDict(frozen=True)

    ack_s: float = Field(default=3.0, description="seconds an app has to acknowledge a delivery")
    trigger_s: float = Field(default=3.0, description="seconds a trigger_id lives")
    response_url_s: float = Field(default=1800.0, description="seconds a response_url lives")
    response_url_uses: int = Field(default=5, description="posts that a response_url takes")
    retry_after_s: tuple[float, ...] = Field(
        default=(0.0, 60.0, 300.0), description="waits before each repeated delivery of an event"
    )
    posts_per_minute: int | None = Field(
        default=None, description="chat.postMessage calls a minute and channel before 429; none: not paced"
    )
    modal_depth: int = Field(default=3, description="views in one stack of modals")
    sockets: int = Field(default=10, description="Socket Mode connections of one app")
