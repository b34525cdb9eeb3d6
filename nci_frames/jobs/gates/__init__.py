"""Gates: promises about a run, judged on bounds: pass, fail or undecided."""
