"""Tables kept by their cells, in memory and in a folder, against sets of cells."""

import gc

import numpy as np
import pytest

from psychollm._base.errors import CodeError, InputError, ShapeError
from psychollm.data import cells as module
from psychollm.data.cells import (
    CellWriter,
    FolderCells,
    MemoryCells,
    RepeatedCellError,
    dense_blocks,
    parts,
)


def some_cells(shape, share, rng):
    """Cells in any order."""
    rows, columns = np.nonzero(rng.random(shape) < share)
    order = rng.permutation(rows.size)
    codes = rng.integers(0, 16, rows.size).astype(np.uint8)
    return rows[order], columns[order], codes


def listed(table):
    cells = table.read(0, table.start.size - 1)
    rows = np.repeat(np.arange(table.start.size - 1), np.diff(cells.start))
    return list(zip(rows.tolist(), cells.columns.tolist(), cells.codes.tolist(), strict=True))


def written(rows, columns, codes, shape, folder, **options):
    with CellWriter(folder, **options) as writer:
        for part in np.array_split(np.arange(rows.size), 7):
            writer.add(rows[part], columns[part], codes[part])
        return writer.finish(shape)


@pytest.mark.parametrize("shape", [(40, 90), (3, 70_000)])
@pytest.mark.parametrize("buffered", [50, 1 << 20])
def test_cells_come_back_sorted(shape, buffered, tmp_path, monkeypatch):
    """With a small buffer, files of many rows have to be dealt again."""
    monkeypatch.setattr(module, "BUFFERED", buffered)
    rows, columns, codes = some_cells(
        shape, 0.01 if shape[1] > 1000 else 0.3, np.random.default_rng(2)
    )
    expected = sorted(zip(rows.tolist(), columns.tolist(), codes.tolist(), strict=True))
    memory = MemoryCells.of(rows, columns, codes, shape)
    folder = written(rows, columns, codes, shape, tmp_path / "a", bucket_rows=16)
    turned = sorted((c, r, code) for r, c, code in expected)
    for table in (memory, folder, FolderCells.open(tmp_path / "a")):
        assert listed(table) == expected
        assert table.read(0, 1).columns.dtype == (np.uint16 if shape[1] < 1 << 16 else np.uint32)
    assert listed(memory.transposed()) == turned
    assert listed(folder.transposed(tmp_path / "b")) == turned
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == [
        "codes.bin",
        "columns.bin",
        "columns.txt",
        "start.npy",
    ]


def test_ranges_of_rows():
    rows, columns, codes = some_cells((50, 30), 0.4, np.random.default_rng(3))
    table = MemoryCells.of(rows, columns, codes, (50, 30))
    ranges = parts(table, cells=100)
    assert [low for low, _ in ranges] == [0, *(high for _, high in ranges[:-1])]
    assert ranges[-1][1] == 50
    read = [table.read(low, high) for low, high in ranges]
    np.testing.assert_array_equal(np.concatenate([one.codes for one in read]), table.cells.codes)
    assert all(one.start[0] == 0 and one.start[-1] == one.codes.size for one in read)


def test_dense_blocks(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 64 * 30)
    rows, columns, codes = some_cells((150, 30), 0.4, np.random.default_rng(3))
    blocks = list(dense_blocks(MemoryCells.of(rows, columns, codes, (150, 30))))
    assert [block.shape for block, _ in blocks] == [(30, 64), (30, 64), (30, 22)]
    table = np.full((30, 150), -1)
    table[columns, rows] = codes
    found = np.hstack([np.where(missing, -1, block) for block, missing in blocks])
    np.testing.assert_array_equal(found, table)


@pytest.mark.parametrize("buffered", [8, 1 << 20])
def test_a_cell_that_comes_twice(buffered, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BUFFERED", buffered)
    rows, columns = np.array([*range(70), 33]), np.array([*range(70), 33])
    codes = np.ones(71, dtype=np.uint8)
    with pytest.raises(RepeatedCellError) as found:
        written(rows, columns, codes, (70, 70), tmp_path, bucket_rows=32)
    assert (found.value.row, found.value.column) == (33, 33)
    with pytest.raises(RepeatedCellError, match="row 33, column 33"):
        MemoryCells.of(rows, columns, codes, (70, 70))


def test_what_is_not_kept():
    one = np.zeros(1, dtype=np.int64)
    with pytest.raises(CodeError, match="code 16 cannot be stored"):
        MemoryCells.of(one, one, one + 16, (1, 1))
    with pytest.raises(ShapeError, match="at most 268,435,456 of each"):
        MemoryCells.of(one, one, one, (1, (1 << 28) + 1))


def test_a_folder_of_its_own_goes_with_the_table():
    one = np.zeros(1, dtype=np.int64)
    with CellWriter() as writer:
        writer.add(one, one, one)
        table = writer.finish((1, 1))
    folder = table.folder
    del writer
    gc.collect()
    assert listed(table) == [(0, 0, 0)]
    del table
    gc.collect()
    assert not folder.exists()


def test_a_folder_of_its_own_goes_with_an_error():
    folders = []

    def fail():
        with CellWriter() as writer:
            folders.append(writer.folder)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert not folders[0].exists()


def test_an_unfinished_folder(tmp_path):
    with pytest.raises(InputError, match="does not hold a finished table of cells"):
        FolderCells.open(tmp_path)


def test_what_is_lent_lasts_until_the_next_range(tmp_path):
    table = written(*some_cells((40, 30), 0.5, np.random.default_rng(8)), (40, 30), tmp_path)
    whole = table.read(0, 40)
    for low, high in ((0, 40), (3, 9), (30, 40)):
        lent, kept = table.read(low, high, lasting=False), table.read(low, high)
        first, last = whole.start[low], whole.start[high]
        for found in (lent, kept):
            assert np.array_equal(found.start, whole.start[low : high + 1] - first)
            assert np.array_equal(found.columns, whole.columns[first:last])
            assert np.array_equal(found.codes, whole.codes[first:last])
        assert np.shares_memory(lent.codes, table.read(low, high, lasting=False).codes)
        assert not np.shares_memory(kept.codes, table.read(low, high).codes)


def test_what_a_folder_holds_is_not_deleted(tmp_path):
    (tmp_path / "unsorted").mkdir()
    (tmp_path / "unsorted" / "mine").touch()
    with pytest.raises(FileExistsError):
        CellWriter(tmp_path)
    assert (tmp_path / "unsorted" / "mine").exists()


def test_a_folder_that_was_cut_off(tmp_path):
    table = written(*some_cells((40, 30), 0.5, np.random.default_rng(8)), (40, 30), tmp_path)
    codes = tmp_path / "codes.bin"
    codes.write_bytes(codes.read_bytes()[:-1])
    table.read(0, 39)
    with pytest.raises(InputError, match=r"codes\.bin ends too early"):
        table.read(0, 40)
