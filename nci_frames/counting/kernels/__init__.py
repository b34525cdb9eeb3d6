"""The inner loops of counting: in C if the package was built with a compiler, otherwise in NumPy.

The form in NumPy of each loop says what the C form computes; only the time differs. Without C, pyarrow reads
the headers of Parquet pages.
"""
