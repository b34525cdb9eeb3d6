"""Exact counts of logs that do not fit into memory."""
