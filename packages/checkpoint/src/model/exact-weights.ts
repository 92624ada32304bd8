import type { DataType } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import { byDistinctNames } from './distinct-names.js';
import { matchedWeights, type MatchedWeights, type WeightTarget } from './load-weights.js';
import type { StoredWeight } from './safetensors-weights.js';
import { openWeights } from './stored-weights.js';
import type { WeightReceiver } from './weight-receiver.js';

/** Names, shapes and dtypes in which files and a model differ. */
interface Differences {
  /** Weights of the model that the files lack. */
  readonly missing: readonly string[];
  /** Stored weights that the model lacks. */
  readonly surplus: readonly string[];
  readonly misshapen: readonly {
    readonly name: string;
    readonly stored: readonly number[];
    readonly here: readonly number[];
  }[];
  readonly mistyped: readonly {
    readonly name: string;
    readonly stored: DataType;
    readonly here: DataType;
  }[];
}

/** Names of stored tensors, other than those of the weights. */
export interface StoredNames {
  /**
   * The weight that a stored tensor is for, and how its dims are permuted. A name that no weight has
   * makes the tensor surplus. Undefined: the tensor is left out.
   */
  readonly targetOf: (stored: string) => WeightTarget | undefined;
  /** Advice for the case that the files have other weights. */
  readonly help: string;
}

/** Stored weights that are open. */
export interface OpenedWeights {
  /** For messages. */
  readonly path: string;
  readonly stored: readonly StoredWeight[];
}

const SHOWN = 8;

const BY_NAME: StoredNames = {
  targetOf: (name) => ({ name }),
  help: 'Build the model from which the weights were saved, with the same names of layers and the same dtypes. accelerator.loadModel maps other names, and loads only some of the weights.',
};

interface Found extends WeightTarget {
  readonly stored: StoredWeight;
}

/**
 * Finds the stored tensor for each weight, by name. Reads no values.
 *
 * @param weights A path as for `matchWeights`, or weights that are open.
 * @param elsewhere Names of weights that other ranks hold.
 * @param named Default: stored tensors have the names of the weights.
 * @throws AccError `ACC_WEIGHTS_MISMATCH` with all weights that are missing, surplus, or have
 * another shape or dtype, or with two stored tensors for one weight.
 * `ACC_WEIGHTS_NOT_FOUND`, `ACC_SAFETENSORS_INVALID`, `ACC_DTYPE_UNSUPPORTED`.
 */
export async function matchExactly(
  receivers: readonly WeightReceiver[],
  weights: string | OpenedWeights,
  elsewhere: readonly string[],
  { targetOf, help }: StoredNames = BY_NAME,
): Promise<MatchedWeights> {
  const { path, stored } =
    typeof weights === 'string' ? { path: weights, stored: await openWeights(weights) } : weights;
  const matches = stored.flatMap((weight): Found[] => {
    const target = targetOf(weight.name);
    return target ? [{ stored: weight, ...target }] : [];
  });
  requireOneEach(path, matches);
  const byName = new Map(matches.map((match) => [match.name, match]));
  const targets = byDistinctNames(receivers);
  const names = new Set([...targets.keys(), ...elsewhere]);
  const found: Differences = {
    missing: [...names].filter((name) => !byName.has(name)),
    surplus: [...byName.keys()].filter((name) => !names.has(name)),
    misshapen: receivers.flatMap(({ name, shape: here }) => {
      const match = byName.get(name);
      const expected = asStored(here, match?.permute);
      const shape = match?.stored.shape ?? expected;
      return shape.join() === expected.join() ? [] : [{ name, stored: shape, here: expected }];
    }),
    mistyped: receivers.flatMap(({ name, dtype: here }) => {
      const dtype = byName.get(name)?.stored.dtype ?? here;
      return dtype === here ? [] : [{ name, stored: dtype, here }];
    }),
  };
  if (Object.values(found).some((list) => list.length > 0)) throw differ(path, found, help);
  return matchedWeights(
    matches.map(({ stored: source, name, permute }) => ({
      stored: source,
      name,
      target: targets.get(name),
      permute,
    })),
    stored,
  );
}

/** Two stored tensors for one weight are two values of it. */
function requireOneEach(path: string, matches: readonly Found[]): void {
  const seen = new Map<string, string>();
  for (const { name, stored } of matches) {
    const other = seen.get(name);
    if (other !== undefined) {
      throw new AccError(
        'ACC_WEIGHTS_MISMATCH',
        `${path} has two tensors for the weight '${name}': '${other}' and '${stored.name}'.`,
        { help: 'Remove one of them: it is not known which values are meant.', details: { name } },
      );
    }
    seen.set(name, stored.name);
  }
}

/** The shape in the file of a weight of `shape`. */
function asStored(shape: readonly number[], permute: readonly number[] | undefined): readonly number[] {
  return permute ? shape.map((_, dim) => shape[permute.indexOf(dim)]!) : shape;
}

function differ(path: string, found: Differences, help: string): AccError {
  const { missing, surplus, misshapen, mistyped } = found;
  const shapes = misshapen.map(
    ({ name, stored, here }) => `'${name}' is [${stored.join()}] there and [${here.join()}] here`,
  );
  const dtypes = mistyped.map(({ name, stored, here }) => `'${name}' is ${stored} there and ${here} here`);
  const lines = [
    ...line('weights that it lacks', missing.map(quoted)),
    ...line('weights that the model lacks', surplus.map(quoted)),
    ...line('other shapes', shapes),
    ...line('other dtypes', dtypes),
  ];
  return new AccError(
    'ACC_WEIGHTS_MISMATCH',
    `${path} does not have the weights of the model:\n${lines.join('\n')}`,
    {
      help,
      details: { ...found },
    },
  );
}

const quoted = (name: string): string => `'${name}'`;

function line(what: string, list: readonly string[]): string[] {
  if (list.length === 0) return [];
  const more = list.length > SHOWN ? ` and ${list.length - SHOWN} more` : '';
  return [`  ${what}: ${list.slice(0, SHOWN).join(', ')}${more}`];
}
