"""Where to count: fixed grids, quantiles, and as fine as a tolerance asks for."""
