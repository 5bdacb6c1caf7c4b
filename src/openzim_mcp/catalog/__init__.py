"""Archives to download: catalogs, mirrors, partial files."""
