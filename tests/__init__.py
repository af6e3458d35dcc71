"""Tests read like the runbook: arrange in domain words, act, assert."""
