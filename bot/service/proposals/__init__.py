"""Proposals: made, decided, carried out and verified."""
