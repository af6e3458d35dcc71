"""Alembic's entry: runs the migrations on the connection, and in the transaction, that `store` hands over."""

from alembic import context

from bot.adapters.journal_sql.schema import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
