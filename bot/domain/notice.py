"""A notice: what one consumer is told, exactly as it was previewed."""

from bot.domain.record import Record


class Notice(Record):
    """One message for one audience. Sent once per `key`."""

    kind: str
    """The template's name: `first_warning`, `recovered`, …"""
    revision: int
    consumer: str
    channel: str
    """Slack channel id."""
    text: str
    """Slack mrkdwn, rendered; this very text is sent."""

    def key(self, incident_id: str) -> str:
        """Unique per incident, notice, audience and revision."""
        return f"{incident_id}/{self.kind}/{self.consumer}/{self.revision}"
