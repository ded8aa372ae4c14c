"""Which clips are worth an episode: measured, compared, judged, and decided by people."""
