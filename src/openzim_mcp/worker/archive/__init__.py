"""An archive as a whole: metadata, lists of entries, checks."""
