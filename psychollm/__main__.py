"""Entry point of ``python -m psychollm``, which runs the command ``psychollm``."""

import sys

from psychollm.cli import main

sys.exit(main())
