"""Pure functions from the state of an incident to Block Kit."""
