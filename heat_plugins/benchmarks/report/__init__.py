"""Pages of tables and figures, made of results."""
