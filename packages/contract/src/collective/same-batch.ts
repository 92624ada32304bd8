import type { Collective } from './collective.js';
import { AccError } from '../errors/errors.js';

/** The form and sums of a tensor that ranks compare. It is small, whatever the size of the tensor. */
export interface Fingerprint {
  /** The dtype and the shape: `float32[8,3]`. */
  readonly form: string;
  readonly sum: number;
  /** The sum of magnitudes. */
  readonly sumOfAbs: number;
  /** The square root of the sum of squares. */
  readonly norm: number;
  /** A sum with a weight in [-1, 1) for each position, which tells permuted values apart. */
  readonly mix: number;
}

/** The fingerprint of a tensor with these values. */
export function fingerprintOf(
  { dtype, shape }: { readonly dtype: string; readonly shape: readonly number[] },
  values: ArrayLike<unknown>,
): Fingerprint {
  let [sum, sumOfAbs, squares, mix] = [0, 0, 0, 0];
  if (dtype !== 'string') {
    for (let i = 0; i < values.length; i++) {
      const value = values[i] as number;
      let bits = Math.imul(i + 1, 0x9e3779b1);
      bits = Math.imul(bits ^ (bits >>> 15), 0x85ebca77);
      sum += value;
      sumOfAbs += Math.abs(value);
      squares += value * value;
      mix += value * (bits / 2 ** 31);
    }
  }
  return { form: `${dtype}[${shape.join()}]`, sum, sumOfAbs, norm: Math.sqrt(squares), mix };
}

/** Hosts with other CPUs round in another way, so that computed inputs differ a little. */
const RELATIVE_TOLERANCE = 1e-3;
/** The scale of losses near 0. */
const LEAST_SCALE = 1e-6;

/**
 * Throws if ranks that compute one batch together were given different ones. Every rank of `ranks`
 * must call it.
 *
 * @param where The call, and the axis of `ranks`.
 * @param own The fingerprints of this rank's tensors.
 * @throws AccError `ACC_BATCHES_DIFFER`, on every rank, with what differs.
 */
export function requireSameBatch(
  where: { readonly call: string; readonly axis: string },
  own: readonly Fingerprint[],
  ranks: Pick<Collective, 'allGatherObject' | 'worldRanks'>,
): void {
  const all = ranks.allGatherObject(own);
  const lines = (describe: (each: readonly Fingerprint[]) => string) =>
    all.map((each, i) => `    rank ${ranks.worldRanks[i]}: ${describe(each)}`).join('\n');
  const forms = (each: readonly Fingerprint[]) => each.map(({ form }) => form).join(', ');
  const [first] = all as [readonly Fingerprint[]];
  if (all.some((each) => forms(each) !== forms(first))) throw differ(where, lines(forms), 'shapes');
  const place = first.findIndex((print, i) => all.some((each) => !haveSameValues(print, each[i]!)));
  if (place < 0) return;
  const numbers = ({ sum, norm, mix }: Fingerprint) =>
    `sum ${round(sum)}, norm ${round(norm)}, sum with weights by position ${round(mix)}`;
  const what = `tensor ${place + 1} of ${first.length}, ${first[place]!.form}, has different values`;
  throw differ(where, `  ${what}\n${lines((each) => numbers(each[place]!))}`, 'values');
}

/**
 * Throws if ranks that compute one loss together have different ones. Labels, or numbers drawn in
 * JavaScript, may differ where inputs do not. Every rank of `ranks` must call it.
 *
 * @param where The call, and the axis of `ranks`.
 * @param own This rank's loss.
 * @throws AccError `ACC_BATCHES_DIFFER`, on every rank, with each rank's loss.
 */
export function requireSameLoss(
  { call, axis }: { readonly call: string; readonly axis: string },
  own: number,
  ranks: Pick<Collective, 'allGatherObject' | 'worldRanks'>,
): void {
  // JSON has no numbers that are not finite.
  const losses = ranks.allGatherObject(String(own)).map(Number);
  const [first] = losses as [number];
  if (losses.every((loss) => isNear(loss, first, Math.max(Math.abs(first), LEAST_SCALE)))) return;
  const lines = losses.map((loss, i) => `    rank ${ranks.worldRanks[i]}: ${loss}`);
  throw new AccError(
    'ACC_BATCHES_DIFFER',
    `${call}: ranks of one line of the mesh axis ${axis} have different losses in the first step:\n${lines.join('\n')}`,
    {
      help: `These ranks compute one loss together. Give all ranks of the axis ${axis} the same batch and labels, and let them draw the same numbers (setSeed).`,
      details: { axis, what: 'losses' },
    },
  );
}

const isNear = (x: number, y: number, scale: number): boolean =>
  Object.is(x, y) || Math.abs(x - y) <= RELATIVE_TOLERANCE * scale;

/** Whether two tensors of one form have the same values, except for rounding. */
export function haveSameValues(a: Fingerprint, b: Fingerprint): boolean {
  const scale = Math.max(a.norm, b.norm);
  const isSameSum = isNear(a.sum, b.sum, Math.max(a.sumOfAbs, b.sumOfAbs));
  return isSameSum && isNear(a.norm, b.norm, scale) && isNear(a.mix, b.mix, scale);
}

/** JSON has null in place of numbers that are not finite. */
const round = (value: number | null): string => (value === null ? 'not finite' : `${+value.toPrecision(6)}`);

function differ(
  { call, axis }: { readonly call: string; readonly axis: string },
  lines: string,
  what: 'shapes' | 'values',
): AccError {
  return new AccError(
    'ACC_BATCHES_DIFFER',
    `${call}: ranks of one line of the mesh axis ${axis} were given different batches:\n${lines}`,
    {
      help: `These ranks compute one batch together. Give all ranks of the axis ${axis} the same batch, as data from accelerator.prepare(data) is.`,
      details: { axis, what },
    },
  );
}
