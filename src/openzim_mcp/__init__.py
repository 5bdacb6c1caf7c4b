"""OpenZIM MCP: offline knowledge in ZIM archives for language models."""

__version__ = "0.1.0"
