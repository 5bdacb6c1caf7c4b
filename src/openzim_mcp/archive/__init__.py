"""ZIM files: the only importer of libzim, and the processes that it runs in."""
