"""How evidence tasks read the table, its files and its storage through Spark."""
