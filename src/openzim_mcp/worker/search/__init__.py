"""Search: words, candidates, ranking, passages."""
