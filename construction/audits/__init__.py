"""What code can say of a set of items before people read it."""
