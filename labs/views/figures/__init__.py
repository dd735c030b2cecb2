"""What an attempt's recordings look like: the token diff, the waterfall, plots. Every number is worked out here."""
