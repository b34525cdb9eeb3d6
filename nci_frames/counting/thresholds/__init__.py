"""Where to count: fixed grids, quantiles, and grids as fine as a tolerance requires."""
