"""Records and rules: no I/O, no clock, no Slack, no Spark."""
