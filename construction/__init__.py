"""From prepared clips to candidate items."""
