"""What charts are made of: axes, canvas, selection, theme, thinning."""
