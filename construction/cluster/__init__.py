"""Many machines: candidates and clips as units of work of a Dask cluster."""
