"""``python -m psychollm`` is the command ``psychollm``."""

import sys

from psychollm.cli import main

sys.exit(main())
