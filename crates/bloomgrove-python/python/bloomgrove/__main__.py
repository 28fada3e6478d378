"""The command-line tool: python -m bloomgrove."""

import sys

from ._tool import main

sys.exit(main())
