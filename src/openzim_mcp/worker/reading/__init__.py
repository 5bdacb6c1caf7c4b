"""Articles, sections, links and files of one archive."""
