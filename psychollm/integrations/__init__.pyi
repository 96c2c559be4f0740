from psychollm.integrations.inspect import StopEarly as StopEarly
from psychollm.integrations.inspect import stop_early as stop_early
