"""What several actions need to propose and to check."""
