"""Start of the program."""


class Import:
    """Fresh interpreters."""

    def timeraw_package(self) -> str:
        return "import psychollm"

    def timeraw_surface(self) -> str:
        return "import psychollm; psychollm.tetrachoric; psychollm.dimensionality"

    def timeraw_command_line(self) -> str:
        return "import psychollm.cli"
