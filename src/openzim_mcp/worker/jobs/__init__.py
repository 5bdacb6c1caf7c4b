"""Long-running work on an archive: it reports progress, and runs in a process of its own."""
