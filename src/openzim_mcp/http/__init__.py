"""Serving many clients over HTTP: who may come in, how much each may ask for, and who is told what happens."""
