"""What the product does: plain functions and values, nothing asynchronous."""
