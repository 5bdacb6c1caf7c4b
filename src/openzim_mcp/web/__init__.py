"""What the server offers over HTTP beside MCP: the API for programs, and the page for people."""
