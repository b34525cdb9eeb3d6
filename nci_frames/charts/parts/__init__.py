"""Parts of charts: axes, canvas, lines, selection, theme."""
