"""Search of one archive: queries, titles, candidates, ranking, snippets, answers."""
