import type { io } from '@tensorflow/tfjs-core';
import { AccError, matchesGlob, type NativeDtype } from '@acc/contract';
import { float16Bits, labelOf, nearestEven } from '@acc/kernels';

/** How tfjs stores a weight in fewer bits: whole numbers with a scale and a least value, or float16. */
export type StoredNumbers = 'uint8' | 'uint16' | 'float16';

/**
 * The weights that have fewer bits in the files of tfjs, by their names: globs, in which `*` stands for any
 * characters but `/`, and `**` for any. `true` stands for all weights that no glob names. One type alone is
 * for all weights.
 */
export type WeightQuantization =
  StoredNumbers | { readonly [numbers in StoredNumbers]?: readonly string[] | true | undefined };

/** The largest whole number of each type. Undefined: a float type. */
const LARGEST = { uint8: 255, uint16: 65_535, float16: undefined } as const;

interface NamedDtype {
  readonly name: string;
  readonly dtype: NativeDtype;
}

/**
 * The type of each weight that has fewer bits. Only weights of float32 have.
 *
 * @throws AccError `ACC_INVALID_OPTION`, also for a glob that names no weight, and a weight that two types name.
 */
export function quantizedNames(
  option: WeightQuantization,
  weights: readonly NamedDtype[],
): Map<string, StoredNumbers> {
  const names = weights.filter(({ dtype }) => labelOf(dtype) === 'float32').map(({ name }) => name);
  const found = new Map<string, StoredNumbers>();
  const types = typesIn(option);
  for (const [numbers, globs] of types) {
    for (const glob of globs === true ? [] : globs) {
      const matching = names.filter((name) => matchesGlob(name, glob));
      if (matching.length === 0)
        throw invalid(`no weight of float32 has a name that matches '${glob}'`, names);
      for (const name of matching) {
        const other = found.get(name) ?? numbers;
        if (other !== numbers)
          throw invalid(`'${name}' is to be stored as ${other} and as ${numbers}`, names);
        found.set(name, numbers);
      }
    }
  }
  const rest = types.find(([, globs]) => globs === true);
  for (const name of rest ? names : []) if (!found.has(name)) found.set(name, rest![0]);
  return found;
}

function typesIn(option: unknown): [StoredNumbers, readonly string[] | true][] {
  const given = typeof option === 'string' ? { [option]: true } : option;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw invalid(`it is ${JSON.stringify(option)}`);
  }
  const types = Object.entries(given).filter(([, globs]) => globs !== undefined);
  for (const [numbers, globs] of types) {
    if (!Object.hasOwn(LARGEST, numbers)) throw invalid(`it has the type '${numbers}'`);
    const isList = Array.isArray(globs) && globs.every((glob) => typeof glob === 'string');
    if (globs !== true && !isList) throw invalid(`'${numbers}' is ${JSON.stringify(globs)}`);
  }
  if (types.filter(([, globs]) => globs === true).length > 1)
    throw invalid('two types are for all other weights');
  return types as [StoredNumbers, readonly string[] | true][];
}

/** A weight in fewer bits, as the files and the manifest of tfjs have it. */
export interface QuantizedWeight {
  readonly data: ArrayBuffer;
  readonly quantization: NonNullable<io.WeightsManifestEntry['quantization']>;
}

/**
 * Stores values as tfjs's converter does: value ≈ number · scale + min. Where 0 is between the least and the
 * largest value, `min` is moved so that 0 stays 0.
 *
 * @throws AccError `ACC_QUANTIZE_VALUES` for values that the type does not hold.
 */
export function quantizeValues(name: string, values: Float32Array, dtype: StoredNumbers): QuantizedWeight {
  const largest = LARGEST[dtype];
  const [from, to] = rangeOf(values);
  if (largest === undefined) {
    const bits = Uint16Array.from(values, float16Bits);
    if (!isFinite16(from) || !isFinite16(to)) throw notHeld(name, dtype);
    return { data: bits.buffer, quantization: { dtype } };
  }
  if (!Number.isFinite(to - from)) throw notHeld(name, dtype);
  const { scale, min } = from === to ? { scale: 1, min: from } : scaling(from, to, largest);
  const max = from === to ? from : largest * scale + min;
  const numbers = new (dtype === 'uint8' ? Uint8Array : Uint16Array)(values.length);
  for (let i = 0; i < values.length; i++) {
    numbers[i] = nearestEven((Math.min(Math.max(values[i]!, min), max) - min) / scale);
  }
  return { data: numbers.buffer, quantization: { dtype, scale, min } };
}

function scaling(from: number, to: number, largest: number): { scale: number; min: number } {
  const scale = (to - from) / largest;
  return { scale, min: from <= 0 && to >= 0 ? -nearestEven((0 - from) / scale) * scale : from };
}

const isFinite16 = (value: number) => (float16Bits(value) & 0x7c00) !== 0x7c00;

/** The least and the largest value, NaN if one is NaN. */
function rangeOf(values: Float32Array): [number, number] {
  if (values.length === 0) return [0, 0];
  let [from, to] = [Infinity, -Infinity];
  for (const value of values) {
    from = Math.min(from, value);
    to = Math.max(to, value);
  }
  return [from, to];
}

function invalid(problem: string, names?: readonly string[]): AccError {
  const shown = names?.slice(0, 8).join(', ');
  const known = names ? ` Weights of float32 are ${shown}${names.length > 8 ? ', …' : ''}.` : '';
  return new AccError('ACC_INVALID_OPTION', `saveModel: quantization: ${problem}.`, {
    help: `Write 'uint8', 'uint16' or 'float16', or globs of names for each: { uint8: ['**/kernel'], float16: true }.${known}`,
    details: { path: ['quantization'] },
  });
}

function notHeld(name: string, dtype: StoredNumbers): AccError {
  return new AccError('ACC_QUANTIZE_VALUES', `'${name}' has values that ${dtype} does not hold.`, {
    help: 'Values have to be finite, and in float16 at most 65504. Leave the weight out of quantization, or train it again.',
    details: { name, dtype },
  });
}
