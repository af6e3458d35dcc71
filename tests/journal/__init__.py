"""The record on SQL: one writer wins, nothing acknowledged is lost, no change goes unseen."""
