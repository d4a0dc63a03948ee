"""Numbers and words in; charts, tables, reports, safe text out. Nothing here is kept or set."""
