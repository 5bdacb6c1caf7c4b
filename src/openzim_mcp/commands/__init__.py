"""What a person types: a command each, rendered by one terminal, on the same services as the tools."""
