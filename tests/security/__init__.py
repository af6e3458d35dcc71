"""Who may not do what: each threat of docs/threat-model.md, tried."""
