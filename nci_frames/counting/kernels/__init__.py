"""The inner loops of counting: in C if the package was built with a compiler, otherwise in NumPy or Python.

The form in NumPy or Python of each loop says what the C form computes; only the time differs.
"""
