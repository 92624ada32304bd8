import { isPlainRecord } from '@acc/contract';
import { cannotCollate } from './errors.js';
import { isOfKind, plainKind, type PlainKind } from './plain-values.js';

/** Combines one part of all samples. Undefined: the part is a record or an array of parts. */
export type LeafOf<L> = (path: string, samples: readonly unknown[]) => L | undefined;

/**
 * Combines samples of the same structure, leaf by leaf. This module needs no tfjs, so that worker
 * threads load quickly.
 *
 * @throws AccError `ACC_DATA_COLLATE`.
 */
export function combine<L>(path: string, samples: readonly unknown[], leafOf: LeafOf<L>): unknown {
  const leaf = leafOf(path, samples);
  if (leaf !== undefined) return leaf;
  const [first] = samples;
  if (Array.isArray(first)) return combineTuples(path, samples, first.length, leafOf);
  if (isPlainRecord(first)) return combineRecords(path, samples, Object.keys(first), leafOf);
  throw cannotCollate(path, `${describe(first)} cannot be part of a batch`);
}

/**
 * The kind that all samples have. Undefined if the first one is no plain value.
 *
 * @throws AccError `ACC_DATA_COLLATE` if samples differ.
 */
export function commonKind(path: string, samples: readonly unknown[]): PlainKind | undefined {
  const kind = plainKind(samples[0]);
  if (!kind) return undefined;
  if (samples.every((sample) => isOfKind(sample, kind))) return kind;
  const kinds = samples.map((sample) => describeKind(plainKind(sample)));
  throw cannotCollate(path, 'samples differ', { samples: kinds });
}

function combineTuples<L>(
  path: string,
  samples: readonly unknown[],
  length: number,
  leafOf: LeafOf<L>,
): unknown[] {
  const tuples = samples.filter((sample) => Array.isArray(sample)) as unknown[][];
  if (tuples.length < samples.length || tuples.some((tuple) => tuple.length !== length)) {
    throw cannotCollate(path, `not all samples are arrays of ${length} items`);
  }
  return Array.from({ length }, (_, i) =>
    combine(
      `${path}[${i}]`,
      tuples.map((tuple) => tuple[i]),
      leafOf,
    ),
  );
}

function combineRecords<L>(
  path: string,
  samples: readonly unknown[],
  keys: readonly string[],
  leafOf: LeafOf<L>,
): unknown {
  const records = samples.filter(isPlainRecord);
  if (records.length < samples.length || !records.every((record) => hasKeys(record, keys))) {
    throw cannotCollate(path, `not all samples are records of the keys ${keys.join(', ')}`);
  }
  return Object.fromEntries(
    keys.map((key) => [
      key,
      combine(
        `${path}.${key}`,
        records.map((record) => record[key]),
        leafOf,
      ),
    ]),
  );
}

function hasKeys(record: Record<string, unknown>, keys: readonly string[]): boolean {
  return Object.keys(record).length === keys.length && keys.every((key) => Object.hasOwn(record, key));
}

function describeKind(kind: PlainKind | undefined): string {
  return kind ? `${kind.dtype} [${kind.shape.join(', ')}]` : 'other';
}

export function describe(value: unknown): string {
  if (value === null || typeof value !== 'object') return value === null ? 'null' : `a ${typeof value}`;
  return `an object of ${value.constructor?.name ?? 'no class'}`;
}
