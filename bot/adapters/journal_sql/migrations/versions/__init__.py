"""One file a schema change. They stand for themselves: none imports the present tables."""
