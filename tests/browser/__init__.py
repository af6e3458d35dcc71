"""The demo, walked in a real browser."""
