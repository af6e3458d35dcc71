"""The exported record, the timeline and the first contract review."""
