"""The report: one folder of pages with figures, claims and runs, that opens from disk without a network."""
