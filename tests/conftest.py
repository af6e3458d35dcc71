"""Fixtures that folders share: one real cluster a session."""

from tests.lab_fixtures import fresh_lab, lab_cluster

__all__ = ["fresh_lab", "lab_cluster"]
