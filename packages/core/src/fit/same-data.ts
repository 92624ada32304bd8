import { gather, tensor1d, type Tensor } from '@tensorflow/tfjs-core';
import { fingerprintOf, haveSameValues, type Collective, type Fingerprint } from '@acc/contract';
import { currentOrders } from '../random/data-orders.js';

/** How many calls of `fit` and `fitDataset` of a model are compared. */
const FITS_COMPARED = 16;
/** Rows are compared that stand at equal distances, as many as have about this many elements. */
const ELEMENTS = 2 ** 18;
const FEWEST_ROWS = 8;
const MOST_ROWS = 64;

/** Compares the data of one call. Undefined: a dataset, of which only the seed of shuffles is known. */
type Compare = (columns?: readonly (Tensor | null)[]) => void;

/**
 * Returns a function that warns once if ranks that share rows have different ones, or shuffle datasets
 * by different seeds. Each rank takes its share by the numbers of rows, so some samples would be
 * trained twice, and others not at all. Every rank of `ranks` calls it.
 */
export function compareData(ranks: Collective): Compare {
  let fits = 0;
  let hasWarned = false;
  return (columns) => {
    if (ranks.size === 1 || fits++ >= FITS_COMPARED) return;
    const prints = columns?.map((column) => column && printOf(column));
    const all = ranks.allGatherObject({ seed: currentOrders()?.seed, prints });
    const problem = differenceOf(all);
    if (problem === undefined || hasWarned || ranks.rank !== 0) return;
    hasWarned = true;
    console.warn(`acc: ${problem}`);
  };
}

interface Compared {
  readonly seed: number | undefined;
  readonly prints: readonly (Fingerprint | null)[] | undefined;
}

function differenceOf(all: readonly Compared[]): string | undefined {
  const [first] = all as [Compared];
  const agree = (a: Fingerprint | null | undefined, b: Fingerprint | null | undefined) =>
    a && b ? a.form === b.form && haveSameValues(a, b) : !a === !b;
  if (first.prints) {
    const isSame = ({ prints }: Compared) => first.prints!.every((print, i) => agree(print, prints?.[i]));
    return all.every(isSame) ? undefined : DIFFERENT_ROWS;
  }
  return all.every(({ seed }) => seed === first.seed) ? undefined : DIFFERENT_SEEDS;
}

const CONSEQUENCE =
  'Each rank takes its share by the numbers of rows, so that some samples are trained twice, and others not at all.';
const DIFFERENT_ROWS =
  `fit was given different rows on different ranks, or rows in another order. ${CONSEQUENCE} ` +
  'Give all rows in the same order on every rank. To shuffle them before, use tf.util.shuffle, or call setSeed with the same seed on every rank before Math.random.';
const DIFFERENT_SEEDS =
  `Ranks called setSeed with different seeds, so that they shuffle the dataset of fitDataset in different orders. ${CONSEQUENCE} ` +
  'Call setSeed with the same seed on every rank.';

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
