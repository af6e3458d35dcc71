"""Rules and records of an incident: entries, fold, approval, proposal, notice, trust, review. Pure."""
