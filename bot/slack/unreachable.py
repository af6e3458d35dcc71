"""What Slack's client raises where no answer of Slack's came, or not the whole of it."""

from http.client import HTTPException

from slack_sdk.errors import SlackClientError

UNREACHABLE = (SlackClientError, OSError, HTTPException)
"""The client hands on what urllib raises: an answer that ends in the middle is no OSError. A refusal, SlackApiError, is
one of the first kind: whoever tells it apart catches it before."""
