"""Copies of the database: made while the site runs, checked, put back into an empty place."""
