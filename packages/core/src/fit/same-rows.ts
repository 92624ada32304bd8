import { gather, tensor1d, tidy, type Tensor } from '@tensorflow/tfjs-core';
import { fingerprintOf, haveSameValues, type Collective, type Fingerprint } from '@acc/contract';

/** How many calls of `fit` of a model are compared. */
const FITS_COMPARED = 16;
/** Rows are compared that stand at equal distances, as many as have about this many elements. */
const ELEMENTS = 2 ** 18;
const FEWEST_ROWS = 8;
const MOST_ROWS = 64;

type Columns = readonly (Tensor | null)[];
type Prints = readonly (Fingerprint | null)[];

/**
 * Returns a function that warns once if ranks that share rows have different ones. Each rank takes its
 * share by the numbers of rows, so some samples would be trained twice, and others not at all. Every
 * rank of `ranks` calls it with the columns of `fit`.
 */
export function compareRows(ranks: Collective): (columns: Columns) => void {
  let fits = 0;
  let hasWarned = false;
  return (columns) => {
    if (ranks.size === 1 || fits++ >= FITS_COMPARED) return;
    const all = ranks.allGatherObject(columns.map((column) => column && printOf(column)));
    if (hasWarned || ranks.worldRanks[ranks.rank] !== 0 || areSame(all)) return;
    hasWarned = true;
    console.warn(DIFFERENT_ROWS);
  };
}

function areSame(all: readonly Prints[]): boolean {
  const [first] = all as [Prints];
  const agree = (a: Fingerprint | null, b: Fingerprint | null | undefined) =>
    a && b ? a.form === b.form && haveSameValues(a, b) : !a === !b;
  return all.every((prints) => first.every((print, i) => agree(print, prints[i])));
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
  const places = Int32Array.from({ length: count }, (_, i) => Math.floor((i * rows) / count));
  const taken = tidy(() => gather(column, tensor1d(places, 'int32')));
  const print = fingerprintOf(column, taken.dataSync());
  taken.dispose();
  return print;
}
