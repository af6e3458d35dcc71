"""Schema changes, each a file in `versions/`; `env.py` is what Alembic runs."""
