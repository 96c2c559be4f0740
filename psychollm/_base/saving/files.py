"""`save` and `load`: a result as a file, and the same result back, to the last bit."""

from os import PathLike
from pathlib import Path
from typing import Any

from psychollm._base.errors import InputError
from psychollm._base.result import Result
from psychollm._base.saving.archive import SavedArchive, write_archive
from psychollm._base.saving.classes import find_class
from psychollm._base.saving.nodes import Reader, Writer
from psychollm._base.version import __version__

FORMAT = "psychollm.result"
VERSION = 1


def save(result: Result, path: str | PathLike[str]) -> Path:
    """Write a result, as `Result.save` does."""
    file = Path(path)
    writer = Writer()
    tree = writer.node(result, at=type(result).__name__)
    head = {"format": FORMAT, "version": VERSION, "library": __version__}
    write_archive(file, {**head, "classes": writer.classes, "result": tree}, writer.arrays)
    return file


def load(path: str | PathLike[str]) -> Result:
    """Return the result in a file that `Result.save` wrote, the same to the last bit.

    A file holds data and no code, and only classes of this package are made from it: a file from
    a stranger can be opened. Arrays are read-only, as they are in every result.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    Result
        Of the class that was saved. ``Estimate.load(path)`` and the like demand one class.

    Raises
    ------
    InputError
        If the file is missing, is no saved result, is cut off or damaged, or was written in a
        newer format or by a version of the library with other fields.

    Examples
    --------
    >>> import psychollm as psy
    >>> found = psy.calibration.brier([[0.9, 0.2, 0.6]], [[1, 0, 0]], bootstrap=9, rng=0)
    >>> again = load(found.save(getfixture("tmp_path") / "brier.psy"))
    >>> again.value == found.value
    array([ True])
    """
    file = Path(path)
    with SavedArchive(file) as archive:
        tree = archive.tree()
        _check_head(file, tree)
        try:
            result = _read(tree, archive)
        except InputError as error:
            msg = f"{file} (written by psychollm {tree.get('library')}): {error}"
            raise InputError(msg) from error
        except RecursionError:
            archive.refuse("it is nested too deeply")
        except Exception as error:  # noqa: BLE001 -- whatever classes make of what they never wrote
            archive.refuse(f"{type(error).__name__} {error}")
    if not isinstance(result, Result):
        archive.refuse("it holds no result")
    return result


def _read(tree: dict[str, Any], archive: SavedArchive) -> Any:
    classes = {key: find_class(*home) for key, home in tree["classes"].items()}
    reader = Reader(array=archive.array, classes=classes, most=archive.size)
    return reader.value(tree["result"])


def _check_head(file: Path, tree: Any) -> None:
    if not isinstance(tree, dict) or tree.get("format") != FORMAT:
        msg = f"{file} is no result saved by psychollm"
        raise InputError(msg)
    version = tree.get("version")
    if not isinstance(version, int) or version < 1:
        msg = f"{file} is damaged or was changed: it names no version of its format"
        raise InputError(msg)
    if version > VERSION:
        msg = (
            f"{file} was written by psychollm {tree.get('library')} in version {version} of the "
            f"format; psychollm {__version__} reads up to {VERSION}: upgrade psychollm"
        )
        raise InputError(msg)
