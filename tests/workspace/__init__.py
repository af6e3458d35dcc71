"""The local Slack workspace, driven by the real slack-bolt and slack-sdk clients."""
