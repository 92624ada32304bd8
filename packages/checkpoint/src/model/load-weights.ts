import { transpose, type Tensor } from '@tensorflow/tfjs-core';
import { AccError, checkKeys, type StateLayer, type Storage } from '@acc/contract';
import { baseName, formatIn } from '@acc/kernels';
import type { Box } from '../format/boxes.js';
import type { StoredWeight } from './safetensors-weights.js';
import { byDistinctNames } from './distinct-names.js';
import type { WeightReceiver } from './weight-receiver.js';
import { openWeights } from './stored-weights.js';

/** The variable that receives a stored tensor. */
export interface WeightTarget {
  /** The variable's name. */
  readonly name: string;
  /**
   * The permutation of the stored dims that gives the dims of the variable, as for `tf.transpose`.
   * PyTorch's Linear needs `[1, 0]`.
   */
  readonly permute?: readonly number[];
}

/**
 * Maps the name of a stored tensor to the name of a variable, or to a target. Undefined: the tensor
 * is not loaded.
 */
export type NameMap =
  | Readonly<Record<string, string | WeightTarget>>
  | ((name: string, shape: readonly number[]) => string | WeightTarget | undefined);

export interface LoadWeightsOptions {
  /** Default: stored names and names of variables are equal. */
  readonly names?: NameMap;
  /**
   * Whether variables without a stored tensor keep their values. Default false: they cause an
   * error.
   */
  readonly allowMissing?: boolean;
  /** Replaces the file system. */
  readonly storage?: Storage;
}

/** Stored weights and their receivers. */
export interface MatchedWeights {
  readonly report: LoadedWeights;
  /** Reads the weights of this rank and assigns them, one after the other. */
  assign(layer: StateLayer): Promise<void>;
}

export interface LoadedWeights {
  /** Names of the variables that received a value. */
  readonly loaded: readonly string[];
  /** Names of the variables that keep their values. */
  readonly missing: readonly string[];
  /** Names of the stored tensors that no variable received. */
  readonly unused: readonly string[];
}

export interface Match {
  readonly stored: StoredWeight;
  /** The name of the weight that receives it. */
  readonly name: string;
  /** Undefined if only other ranks hold the weight. */
  readonly target: WeightReceiver | undefined;
  readonly permute: readonly number[] | undefined;
}

/**
 * Finds the stored tensor for each weight. Compares names, shapes and dtypes; reads no values.
 *
 * @param path A safetensors file, or a folder of them as on the Hugging Face Hub; a tfjs
 * `model.json`; a checkpoint.
 * @param elsewhere Names of weights that other ranks hold.
 * @throws AccError `ACC_WEIGHTS_NOT_FOUND`, `ACC_WEIGHTS_MISMATCH`, `ACC_SAFETENSORS_INVALID`,
 * `ACC_DTYPE_UNSUPPORTED`.
 */
export async function matchWeights(
  receivers: readonly WeightReceiver[],
  path: string,
  options: LoadWeightsOptions,
  elsewhere: readonly string[] = [],
): Promise<MatchedWeights> {
  checkKeys('loadModel', options, ['names', 'allowMissing', 'storage']);
  const stored = await openWeights(path, options.storage);
  const names = [...new Set([...receivers.map(({ name }) => name), ...elsewhere])];
  const matches = match(stored, receivers, names, options.names);
  const taken = new Set(matches.map(({ name }) => name));
  const missing = names.filter((name) => !taken.has(name));
  if (missing.length > 0 && !options.allowMissing) {
    requireFormats(missing, stored);
    throw nothingFor(missing, stored, path);
  }
  for (const each of matches) requireFit(each);
  return matchedWeights(matches, stored, missing);
}

/** @param stored All stored weights. Those without a match are not read. */
export function matchedWeights(
  matches: readonly Match[],
  stored: readonly StoredWeight[],
  missing: readonly string[] = [],
): MatchedWeights {
  const used = new Set(matches.map(({ stored: source }) => source.name));
  const unused = stored.map(({ name }) => name).filter((name) => !used.has(name));
  return {
    report: { loaded: baseNames(matches.map(({ name }) => name)), missing: baseNames(missing), unused },
    async assign(layer) {
      try {
        for (const each of matches) await readInto(each, layer);
      } finally {
        for (const each of stored) await each.release?.();
      }
    },
  };
}

/** The names of variables, without the formats of their records. Each once. */
const baseNames = (names: readonly string[]): string[] => [...new Set(names.map(baseName))];

/** Reads only the requested boxes of one weight. */
async function readInto({ stored, target, permute }: Match, layer: StateLayer): Promise<void> {
  if (!target) return;
  const values: Tensor[] = [];
  try {
    for (const box of target.boxes) {
      const read = await stored.read(layer, permute ? boxBefore(box, permute) : box);
      values.push(permute ? permuted(read, permute) : read);
    }
    target.assign(values);
  } finally {
    for (const value of values) value.dispose();
  }
}

/** The box of stored elements that becomes `box` when the dims are permuted. */
function boxBefore({ offset, sizes }: Box, permute: readonly number[]): Box {
  const before = { offset: [...offset], sizes: [...sizes] };
  permute.forEach((from, dim) => {
    before.offset[from] = offset[dim]!;
    before.sizes[from] = sizes[dim]!;
  });
  return before;
}

function match(
  stored: readonly StoredWeight[],
  receivers: readonly WeightReceiver[],
  known: readonly string[],
  names: NameMap | undefined,
): Match[] {
  const targets = byDistinctNames(receivers);
  const isKnown = new Set(known);
  return stored.flatMap((source) => {
    const mapped = mappedName(source, names);
    if (mapped === undefined) return [];
    const { name, permute } = typeof mapped === 'string' ? { name: mapped, permute: undefined } : mapped;
    if (isKnown.has(name)) return [{ stored: source, name, target: targets.get(name), permute }];
    if (names === undefined) return [];
    throw new AccError(
      'ACC_WEIGHTS_MISMATCH',
      `names maps '${source.name}' to '${name}', but there is no variable with that name.`,
      {
        help: `The variables are: ${shortList(known)}.`,
      },
    );
  });
}

function mappedName({ name, shape }: StoredWeight, names: NameMap | undefined) {
  if (names === undefined) return name;
  if (typeof names === 'function') return names(name, shape);
  return Object.hasOwn(names, name) ? names[name] : undefined;
}

function requireFit({ stored, target, permute }: Match): void {
  if (!target) return;
  requireFormat(stored, target, permute);
  const shape = permute ? permute.map((dim) => stored.shape[dim]) : stored.shape;
  if (shape.join() === target.shape.join()) return requireDtype(stored, target);
  throw new AccError(
    'ACC_WEIGHTS_MISMATCH',
    `'${stored.name}' has the shape [${shape.join()}]${permute ? ' when it is permuted' : ''}, but the variable '${target.name}' has [${target.shape.join()}].`,
    {
      help: 'PyTorch stores the kernel of a dense layer transposed. To transpose it, give names: { … : { name, permute: [1, 0] } }.',
    },
  );
}

function permuted(read: Tensor, permute: readonly number[]): Tensor {
  const turned = transpose(read, [...permute]);
  read.dispose();
  return turned;
}

/** Records of different formats may have the same shape, and mean other values. */
function requireFormat(
  stored: StoredWeight,
  target: WeightReceiver,
  permute: readonly number[] | undefined,
): void {
  const format = formatIn(stored.name);
  if (format !== formatIn(target.name)) throw otherFormat(stored, target.name);
  if (format === undefined || !permute) return;
  throw new AccError(
    'ACC_WEIGHTS_MISMATCH',
    `'${stored.name}' has records of a quantized weight, whose dims cannot be permuted.`,
    { help: 'Leave permute out, and quantize the model as the saved one was.' },
  );
}

/** @param target The name of the receiver. */
function otherFormat({ name, dtype }: StoredWeight, target: string): AccError {
  const [inFile, inModel] = [formatIn(name), formatIn(target)];
  return new AccError(
    'ACC_WEIGHTS_MISMATCH',
    `'${baseName(name)}' is stored as ${inFile ?? dtype}, but '${baseName(target)}' of the model ${inModel ? `is quantized as ${inModel}` : 'is not quantized'}.`,
    { help: helpForFormat(inFile, inModel), details: { stored: name, target } },
  );
}

/** @param inFile The format of the file. Undefined: its values are not packed. So is `inModel`. */
function helpForFormat(inFile: string | undefined, inModel: string | undefined): string {
  if (inFile === undefined) return 'Load the file first, and quantize the model afterwards.';
  const [dtype, scales, axis] = inFile.split('.') as [string, string, string];
  const granularity = scales.startsWith('group') ? `{ group: ${scales.slice(5)} }` : `'${scales}'`;
  const isHalf = dtype === 'bf16' || dtype === 'fp16';
  const given = [`weights: '${dtype}'`, ...(isHalf ? [] : [`granularity: ${granularity}`])].join(', ');
  const ofAxis = axis === 'first' ? ' (values of a channel lie along the first dim)' : '';
  return inModel === undefined
    ? `Quantize the model before it is loaded, with ${given}${ofAxis}.`
    : `Quantize the model with ${given}${ofAxis}, as the saved one was.`;
}

function requireDtype({ name, dtype }: StoredWeight, target: WeightReceiver): void {
  if (dtype === target.dtype) return;
  throw new AccError(
    'ACC_WEIGHTS_MISMATCH',
    `'${name}' is ${dtype} in the file, but the variable '${target.name}' is ${target.dtype}.`,
    { help: 'Create the variable with the dtype of the file.' },
  );
}

/** Refuses weights that a file has in another format, under the name of that format. */
function requireFormats(missing: readonly string[], stored: readonly StoredWeight[]): void {
  const byBase = new Map(stored.map((weight) => [baseName(weight.name), weight]));
  for (const name of missing) {
    const found = byBase.get(baseName(name));
    if (found && formatIn(found.name) !== formatIn(name)) throw otherFormat(found, name);
  }
}

function nothingFor(missing: readonly string[], stored: readonly StoredWeight[], path: string): AccError {
  return new AccError('ACC_WEIGHTS_MISMATCH', `${path} does not contain weights for ${shortList(missing)}.`, {
    help: `It contains ${shortList(stored.map(({ name }) => name))}. Map stored names to variables with the option names, or set allowMissing: true.`,
    details: { missing },
  });
}

function shortList(names: readonly string[]): string {
  const shown = names.slice(0, 5).map((name) => `'${name}'`);
  return names.length > shown.length
    ? `${shown.join(', ')} and ${names.length - shown.length} others`
    : shown.join(', ');
}
