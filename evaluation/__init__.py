"""From a frozen release to scores."""
