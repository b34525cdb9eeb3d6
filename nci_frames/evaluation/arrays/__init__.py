"""Frames -> NumPy: the arrays that areas, crossovers and resampling compute on."""
