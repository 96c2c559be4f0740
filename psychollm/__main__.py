"""Entry point of ``python -m psychollm``, equivalent to the command ``psychollm``."""

import sys

from psychollm.cli import main

sys.exit(main())
