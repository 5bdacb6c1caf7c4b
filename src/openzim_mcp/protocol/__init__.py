"""What a client sees; with `server.py` the only user of the MCP SDK."""
