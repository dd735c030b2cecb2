"""What /metrics says: what each process counts itself, what all of them say of themselves, what the database knows."""
