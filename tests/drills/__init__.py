"""Drills: a whole site under a class, a hog, or faults, held against what is known to be right.

Each is a script that ends by itself, prints what it counted and ends with 1 where something came out wrong; a short
form of each runs as a test.
"""
