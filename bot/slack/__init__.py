"""The Slack surface: ack, store, one service call, render. It does not know which workspace it talks to."""
