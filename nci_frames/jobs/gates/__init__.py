"""Gates: conditions on a run, checked on bounds: pass, fail or undecided."""
