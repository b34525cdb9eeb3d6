"""Counting on a Spark cluster: beside the engine, not inside it."""
