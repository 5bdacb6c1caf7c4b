"""Code that runs in worker processes only: libzim, parsing, ranking."""
