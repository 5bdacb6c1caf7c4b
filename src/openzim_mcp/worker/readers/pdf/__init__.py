"""The PDF reader: pages to paragraphs, with the page where each stands."""
