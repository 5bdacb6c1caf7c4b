"""`python -m openzim_mcp` is the `openzim-mcp` command."""

import sys

from openzim_mcp.cli.main import main

sys.exit(main())
