from openzim_mcp.api import AsyncLibrary as AsyncLibrary
from openzim_mcp.api import Library as Library

__version__: str
