import { operator, tensorFrom, type Tensor } from '@acc/native';
import { cast, indexSelect, reshape } from './operators.js';

const toTiles = operator('aten::_convert_weight_to_int4pack_for_cpu');
const product = operator('aten::_weight_int4pack_mm_for_cpu');
const bitAnd = operator('aten::bitwise_and.Scalar');
const shiftRight = operator('aten::bitwise_right_shift.Tensor_Scalar');
const cat = operator('aten::cat');
const transposeDims = operator('aten::transpose.int');
const contiguous = operator('aten::contiguous');

// libtorch's kernel for CPUs takes tiles of 64 rows. In each column of a tile, its 64 numbers lie in 32
// bytes, in an order that depends on the instructions of the CPU.

/**
 * The most rows of `x` for which the kernel is faster than unpacking the tiles, which takes as long as some
 * 450 rows of it (2048 × 2048 on one core with AVX-512).
 */
export const MOST_TILED_ROWS = 512;

const TILE = 64;
const PROBE_COLUMNS = 32;

interface Order {
  /** For each row of a tile, its place among the lower and then the upper halves of the 32 bytes. */
  readonly places: readonly number[];
}

const known: { order?: Order | undefined; isAsked?: boolean } = {};

/** Whether the kernel takes a matrix of this shape, in an order from which the numbers can be read back. */
export function isTiled([rows, columns]: readonly [number, number]): boolean {
  return rows % TILE === 0 && columns % PROBE_COLUMNS === 0 && orderOfTiles() !== undefined;
}

/** Numbers uint8 `[rows, columns]` as the kernel takes them. The caller disposes it. */
export function tile(numbers: Tensor): Tensor {
  using wide = cast(numbers, 'int32');
  return toTiles(wide, 1);
}

/** The inverse of {@link tile}. The caller disposes it. */
export function untile(tiles: Tensor, [rows, columns]: readonly [number, number]): Tensor {
  using halves = halvesOf(tiles, rows, columns);
  using places = tensorFrom(Int32Array.from(orderOfTiles()!.places), 'int32', [TILE]);
  using ordered = indexSelect(halves, 2, places);
  using turned = transposeDims(ordered, 1, 2);
  using dense = contiguous(turned);
  return reshape(dense, [rows, columns]);
}

/** x·Mᵀ. libtorch's kernel for float32 `x` is a loop over single numbers, so `x` is bfloat16. */
export function tiledProduct(
  x: Tensor,
  tiles: Tensor,
  { group, scalesAndZeros }: { readonly group: number; readonly scalesAndZeros: Tensor },
): Tensor {
  using short = cast(x, 'bfloat16');
  using y = product(short, tiles, group, scalesAndZeros);
  return cast(y, x.dtype);
}

/** `[tiles, columns, 64]`: the lower halves of the bytes, then the upper ones. */
function halvesOf(tiles: Tensor, rows: number, columns: number): Tensor {
  using bytes = reshape(tiles, [rows / TILE, columns, TILE / 2]);
  using lower = bitAnd(bytes, 15);
  using upper = shiftRight(bytes, 4);
  return cat([lower, upper], 2);
}

/** Finds the order by two matrices whose numbers are the digits of their rows. */
function orderOfTiles(): Order | undefined {
  if (!known.isAsked) {
    known.isAsked = true;
    known.order = probedOrder();
  }
  return known.order;
}

function probedOrder(): Order | undefined {
  const digits = [0, 4].map((shift) => probed((row) => (row >> shift) & 15));
  const rowAt = digits[0]!.map((low, i) => low + 16 * digits[1]![i]!);
  const first = rowAt.slice(0, TILE);
  const isSame = rowAt.every((row, i) => row === first[i % TILE]);
  const places = Array.from({ length: TILE }, (_, row) => first.indexOf(row));
  return isSame && !places.includes(-1) ? { places } : undefined;
}

/** The halves of two tiles whose rows have these numbers. */
function probed(numberOf: (row: number) => number): number[] {
  const rows = 2 * TILE;
  const numbers = Uint8Array.from({ length: rows * PROBE_COLUMNS }, (_, i) =>
    numberOf(Math.floor(i / PROBE_COLUMNS) % TILE),
  );
  using matrix = tensorFrom(numbers, 'uint8', [rows, PROBE_COLUMNS]);
  using tiles = tile(matrix);
  using halves = halvesOf(tiles, rows, PROBE_COLUMNS);
  return [...(halves.read() as Uint8Array)];
}
