"""MCP over HTTP for many clients: authentication, limits per client, metrics."""
