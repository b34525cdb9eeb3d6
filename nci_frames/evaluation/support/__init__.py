"""Which prevalences a log can support: the rule, its limits for points and curves, and what tables say."""
