"""Frames -> charts: each function draws one chart and returns it as an Altair object.

Charts only select and draw rows. Model names are data: they occur only in rows and in the domain of the
colour scale, which Vega takes literally, never in a title, a field name or an expression.
"""
