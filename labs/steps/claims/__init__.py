"""The checks of the longer steps: their titles, points and hints, apart from the rules that settle them."""
