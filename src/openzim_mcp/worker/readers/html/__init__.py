"""The reader of HTML pages."""

from selectolax.lexbor import SelectolaxError as ParserError

__all__ = ["ParserError"]
