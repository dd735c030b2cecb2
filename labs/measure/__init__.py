"""From bytes and a clock to figures: plans, recordings, the driver. No Django here."""
