import { transpose, type DataType, type Tensor } from '@tensorflow/tfjs-core';
import { AccError, checkKeys, type StateLayer, type Storage } from '@acc/contract';
import type { Box } from '../format/boxes.js';
import type { StoredWeight } from './safetensors-weights.js';
import { openWeights } from './stored-weights.js';

/** Which variable a stored tensor goes to. */
export interface WeightTarget {
  /** The variable's name. */
  readonly name: string;
  /** The stored dims in the order in which the variable has them, as for `tf.transpose`: PyTorch's Linear takes `[1, 0]`. */
  readonly permute?: readonly number[];
}

/** For a stored name the variable's, or where it goes; undefined: it is left out. */
export type NameMap =
  | Readonly<Record<string, string | WeightTarget>>
  | ((name: string, shape: readonly number[]) => string | WeightTarget | undefined);

export interface LoadWeightsOptions {
  /** Default: names are the same. */
  readonly names?: NameMap;
  /** Whether variables that nothing is stored for stay as they are. Default false: that is an error. */
  readonly allowMissing?: boolean;
  /** In place of the file system. */
  readonly storage?: Storage;
}

/** What takes the values of a weight, or those of its elements that a rank holds. */
export interface WeightReceiver {
  readonly name: string;
  /** Of the whole weight. */
  readonly shape: readonly number[];
  readonly dtype: DataType;
  /** What is read, box by box. */
  readonly boxes: readonly Box[];
  /** Takes the values of the boxes, in their order. The tensors stay the caller's. */
  assign(values: readonly Tensor[]): void;
}

/** Stored weights, and what takes them. */
export interface MatchedWeights {
  readonly report: LoadedWeights;
  /** Reads the weights of this rank and assigns them, one after the other. */
  assign(layer: StateLayer): Promise<void>;
}

export interface LoadedWeights {
  /** Names of variables. */
  readonly loaded: readonly string[];
  /** Names of variables that stayed as they are. */
  readonly missing: readonly string[];
  /** Stored names that no variable took. */
  readonly unused: readonly string[];
}

interface Match {
  readonly stored: StoredWeight;
  /** The name of the weight that takes it. */
  readonly name: string;
  /** Undefined where other ranks hold the weight. */
  readonly target: WeightReceiver | undefined;
  readonly permute: readonly number[] | undefined;
}

/**
 * Finds for each weight the stored one. Names and shapes are compared, and no value is read.
 *
 * @param path A safetensors file or a folder of such, as on the Hugging Face Hub; a `model.json` of tfjs; a checkpoint.
 * @param elsewhere Names of weights that other ranks hold.
 * @throws AccError `ACC_WEIGHTS_NOT_FOUND`, `ACC_WEIGHTS_MISMATCH`, `ACC_SAFETENSORS_INVALID`, `ACC_DTYPE_UNSUPPORTED`.
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
  if (missing.length > 0 && !options.allowMissing) throw nothingFor(missing, stored, path);
  for (const each of matches) requireShape(each);
  const used = new Set(matches.map(({ stored: source }) => source.name));
  const unused = stored.map(({ name }) => name).filter((name) => !used.has(name));
  return {
    report: { loaded: [...taken], missing, unused },
    async assign(layer) {
      try {
        for (const each of matches) await readInto(each, layer);
      } finally {
        for (const each of stored) await each.release?.();
      }
    },
  };
}

/** Reads the boxes of one weight, and nothing else of it. */
async function readInto({ stored, target, permute }: Match, layer: StateLayer): Promise<void> {
  if (!target) return;
  const values: Tensor[] = [];
  try {
    for (const box of target.boxes) {
      const read = await stored.read(layer, permute ? boxBefore(box, permute) : box);
      values.push(permute ? permuted(read, permute) : read);
    }
    assign(target, values);
  } finally {
    for (const value of values) value.dispose();
  }
}

/** The box of stored elements that become `box` when their dims are permuted. */
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
  const targets = new Map(receivers.map((each) => [each.name, each]));
  const isKnown = new Set(known);
  return stored.flatMap((source) => {
    const mapped = mappedName(source, names);
    if (mapped === undefined) return [];
    const { name, permute } = typeof mapped === 'string' ? { name: mapped, permute: undefined } : mapped;
    if (isKnown.has(name)) return [{ stored: source, name, target: targets.get(name), permute }];
    if (names === undefined) return [];
    throw new AccError(
      'ACC_WEIGHTS_MISMATCH',
      `'${source.name}' is to go to '${name}', which is no variable.`,
      {
        help: `Variables are: ${shortList(known)}.`,
      },
    );
  });
}

function mappedName({ name, shape }: StoredWeight, names: NameMap | undefined) {
  if (names === undefined) return name;
  if (typeof names === 'function') return names(name, shape);
  return Object.hasOwn(names, name) ? names[name] : undefined;
}

function requireShape({ stored, target, permute }: Match): void {
  if (!target) return;
  const shape = permute ? permute.map((dim) => stored.shape[dim]) : stored.shape;
  if (shape.join() === target.shape.join()) return;
  throw new AccError(
    'ACC_WEIGHTS_MISMATCH',
    `'${stored.name}' has the shape [${shape.join()}]${permute ? ' when it is permuted' : ''}, '${target.name}' [${target.shape.join()}].`,
    { help: 'PyTorch keeps a dense kernel transposed: names: { … : { name, permute: [1, 0] } }.' },
  );
}

function permuted(read: Tensor, permute: readonly number[]): Tensor {
  const turned = transpose(read, [...permute]);
  read.dispose();
  return turned;
}

function assign(target: WeightReceiver, values: readonly Tensor[]): void {
  const other = values.find(({ dtype }) => dtype !== target.dtype);
  if (!other) return target.assign(values);
  throw new AccError(
    'ACC_WEIGHTS_MISMATCH',
    `'${target.name}' is ${target.dtype}, what is stored ${other.dtype}.`,
  );
}

function nothingFor(missing: readonly string[], stored: readonly StoredWeight[], path: string): AccError {
  return new AccError('ACC_WEIGHTS_MISMATCH', `${path} has nothing for ${shortList(missing)}.`, {
    help: `It has ${shortList(stored.map(({ name }) => name))}. Give names, or allowMissing: true.`,
    details: { missing },
  });
}

function shortList(names: readonly string[]): string {
  const shown = names.slice(0, 5).map((name) => `'${name}'`);
  return names.length > shown.length
    ? `${shown.join(', ')} and ${names.length - shown.length} others`
    : shown.join(', ');
}
