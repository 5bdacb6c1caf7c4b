"""Readers by MIME type: bytes to Document."""
