"""The engine behind ``experiments/``: figures, claims, the report, whole reproductions, comparisons. It reads the store."""
