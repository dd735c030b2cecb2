"""A roster into a course: what it would change, and the change itself. Nobody's work goes."""
