"""Worker processes, as the server sees them."""
