import { transpose, type DataType, type Tensor } from '@tensorflow/tfjs-core';
import { AccError, checkKeys, type StateLayer, type Storage } from '@acc/contract';
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

/** What takes the values of a weight. */
export interface WeightReceiver {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype: DataType;
  /** The tensor stays the caller's. */
  assign(values: Tensor): void;
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
  readonly target: WeightReceiver;
  readonly permute: readonly number[] | undefined;
}

/**
 * Gives weights the values of stored ones. Names and shapes are compared before any value is read.
 *
 * @param path A safetensors file or a folder of such, as on the Hugging Face Hub; a `model.json` of tfjs; a checkpoint.
 * @throws AccError `ACC_WEIGHTS_NOT_FOUND`, `ACC_WEIGHTS_MISMATCH`, `ACC_SAFETENSORS_INVALID`, `ACC_DTYPE_UNSUPPORTED`.
 */
export async function loadWeights(
  receivers: readonly WeightReceiver[],
  path: string,
  options: LoadWeightsOptions,
  layer: StateLayer,
): Promise<LoadedWeights> {
  checkKeys('loadWeights', options, ['names', 'allowMissing', 'storage']);
  const stored = await openWeights(path, options.storage);
  const matches = match(stored, receivers, options.names);
  const taken = new Set(matches.map(({ target }) => target.name));
  const missing = receivers.map(({ name }) => name).filter((name) => !taken.has(name));
  if (missing.length > 0 && !options.allowMissing) throw nothingFor(missing, stored, path);
  for (const each of matches) requireShape(each);
  for (const { stored: source, target, permute } of matches) {
    const read = await source.read(layer);
    assign(target, permute ? permuted(read, permute) : read);
  }
  const used = new Set(matches.map(({ stored: source }) => source.name));
  const unused = stored.map(({ name }) => name).filter((name) => !used.has(name));
  return { loaded: [...taken], missing, unused };
}

function match(
  stored: readonly StoredWeight[],
  receivers: readonly WeightReceiver[],
  names: NameMap | undefined,
): Match[] {
  const targets = new Map(receivers.map((each) => [each.name, each]));
  return stored.flatMap((source) => {
    const mapped = mappedName(source, names);
    if (mapped === undefined) return [];
    const { name, permute } = typeof mapped === 'string' ? { name: mapped, permute: undefined } : mapped;
    const target = targets.get(name);
    if (target) return [{ stored: source, target, permute }];
    if (names === undefined) return [];
    throw new AccError(
      'ACC_WEIGHTS_MISMATCH',
      `'${source.name}' is to go to '${name}', which is no variable.`,
      {
        help: `Variables are: ${shortList(receivers.map((each) => each.name))}.`,
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

function assign(target: WeightReceiver, values: Tensor): void {
  try {
    if (values.dtype === target.dtype) return target.assign(values);
  } finally {
    values.dispose();
  }
  throw new AccError(
    'ACC_WEIGHTS_MISMATCH',
    `'${target.name}' is ${target.dtype}, what is stored ${values.dtype}.`,
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
