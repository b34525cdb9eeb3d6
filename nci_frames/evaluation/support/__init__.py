"""Which prevalences a log supports: the rule, its limits for points and curves, and the texts in tables."""
