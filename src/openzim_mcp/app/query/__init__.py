"""zim_query: from a sentence to an answer."""
