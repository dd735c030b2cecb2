"""Tables in and out: bytes to rows, rows to CSV and workbooks. Knows nothing of courses."""
