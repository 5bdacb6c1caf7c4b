"""The HTML reader."""
