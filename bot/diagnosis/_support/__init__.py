"""What several failure modes ask of a case."""
