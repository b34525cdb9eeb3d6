"""Frames -> charts: each function draws one chart and returns it as an Altair object.

Charts only select rows and draw them. Model names are data: they occur only in the rows and in the domain of
the colour scale, which Vega takes literally, never in a title, a field name or an expression.
"""
