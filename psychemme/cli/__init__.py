"""The `psychemme` command: one thin file per verb."""
