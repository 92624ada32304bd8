import { gather, tensor1d, type Tensor } from '@tensorflow/tfjs-core';
import { fingerprintOf, haveSameValues, type Collective, type Fingerprint } from '@acc/contract';
import { beginOrders, currentOrders } from '../random/data-orders.js';

/** How many calls of `fit` and `fitDataset` of a model are compared. */
const FITS_COMPARED = 16;
/** Rows are compared that stand at equal distances, as many as have about this many elements. */
const ELEMENTS = 2 ** 18;
const FEWEST_ROWS = 8;
const MOST_ROWS = 64;

/** Compares the data of one call. Undefined: a dataset, of which only the seed of shuffles is known. */
type Compare = (columns?: readonly (Tensor | null)[]) => void;

/**
 * Returns a function that warns once if ranks that share rows have different ones. Each rank takes its
 * share by the numbers of rows, so some samples would be trained twice, and others not at all. For a
 * dataset, ranks that called `setSeed` with different seeds, for their dropout, shuffle by that of the
 * first. Every rank of `ranks` calls it.
 */
export function compareData(ranks: Collective): Compare {
  let fits = 0;
  let hasWarned = false;
  return (columns) => {
    if (ranks.size === 1 || fits++ >= FITS_COMPARED) return;
    const prints = columns?.map((column) => column && printOf(column));
    const all = ranks.allGatherObject({ seed: currentOrders()?.seed, prints });
    const [first] = all as [Compared];
    if (!columns && first.seed !== undefined) beginOrders(first.seed);
    if (hasWarned || ranks.worldRanks[ranks.rank] !== 0 || haveSameRows(all)) return;
    hasWarned = true;
    console.warn(DIFFERENT_ROWS);
  };
}

interface Compared {
  readonly seed: number | undefined;
  readonly prints: readonly (Fingerprint | null)[] | undefined;
}

function haveSameRows(all: readonly Compared[]): boolean {
  const [first] = all as [Compared];
  const agree = (a: Fingerprint | null | undefined, b: Fingerprint | null | undefined) =>
    a && b ? a.form === b.form && haveSameValues(a, b) : !a === !b;
  return all.every(({ prints }) => first.prints?.every((print, i) => agree(print, prints?.[i])) ?? true);
}

const DIFFERENT_ROWS =
  'acc: fit was given different rows on different ranks, or rows in another order. ' +
  'Each rank takes its share by the numbers of rows, so that some samples are trained twice, and others not at all. ' +
  'Give all rows in the same order on every rank. To shuffle them before, use tf.util.shuffle, or call setSeed with the same seed on every rank before Math.random.';

/** Of a few rows. */
function printOf(column: Tensor): Fingerprint {
  if (column.size === 0 || column.dtype === 'string') return fingerprintOf(column, []);
  const rows = column.shape[0]!;
  const fitting = Math.floor(ELEMENTS / (column.size / rows));
  const count = Math.min(rows, Math.max(FEWEST_ROWS, Math.min(MOST_ROWS, fitting)));
  const places = tensor1d(
    Int32Array.from({ length: count }, (_, i) => Math.floor((i * rows) / count)),
    'int32',
  );
  const taken = gather(column, places);
  const print = fingerprintOf(column, taken.dataSync());
  places.dispose();
  taken.dispose();
  return print;
}
