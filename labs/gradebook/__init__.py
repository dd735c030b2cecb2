"""A class's points at a glance: the book, and in which order and of whom it is shown."""
