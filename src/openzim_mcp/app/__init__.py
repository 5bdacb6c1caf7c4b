"""What the product does, for every front end: no SDK, no Click, no Starlette."""
