import { stack, Tensor, tensor, util } from '@tensorflow/tfjs-core';
import { isPlainRecord } from '@acc/contract';
import { cannotCollate } from './errors.js';
import { packPlain, plainKind, sameKind, type PlainKind } from './plain-values.js';

/**
 * Combines samples of the same structure into one batch. Numbers, booleans and strings become a
 * tensor `[rows]`. Arrays of these, typed arrays and tensors are stacked to `[rows, …]`. Records
 * are batched by key, other arrays by index.
 *
 * @param samples At least one. They are not changed.
 * @returns The structure of a sample, with tensors that the caller owns. Numbers become float32,
 * booleans bool, strings string, and typed arrays float32 or int32. Tensors keep their dtype.
 * @throws AccError `ACC_DATA_COLLATE`.
 */
export function collate(samples: readonly unknown[]): unknown {
  return collateAt('sample', samples);
}

function collateAt(path: string, samples: readonly unknown[]): unknown {
  const [first] = samples;
  if (first instanceof Tensor) return stackTensors(path, samples, first);
  const kind = plainKind(first);
  if (kind) {
    const kinds = samples.map(plainKind);
    if (kinds.every((other) => other && sameKind(other, kind))) {
      return tensor(packPlain(samples, kind), [samples.length, ...kind.shape], kind.dtype);
    }
    throw cannotCollate(path, 'samples differ', { samples: kinds.map(describeKind) });
  }
  if (Array.isArray(first)) return collateTuples(path, samples, first.length);
  if (isPlainRecord(first)) return collateRecords(path, samples, Object.keys(first));
  throw cannotCollate(path, `${describe(first)} cannot be part of a batch`);
}

function stackTensors(path: string, samples: readonly unknown[], first: Tensor): Tensor {
  const tensors = samples.filter((sample) => sample instanceof Tensor);
  const alike = tensors.every((x) => util.arraysEqual(x.shape, first.shape) && x.dtype === first.dtype);
  if (tensors.length === samples.length && alike) return stack(tensors);
  throw cannotCollate(path, 'tensors differ in shape or dtype', { samples: samples.map(describe) });
}

function collateTuples(path: string, samples: readonly unknown[], length: number): unknown[] {
  const tuples = samples.filter((sample) => Array.isArray(sample)) as unknown[][];
  if (tuples.length < samples.length || tuples.some((tuple) => tuple.length !== length)) {
    throw cannotCollate(path, `not all samples are arrays of ${length} items`);
  }
  return Array.from({ length }, (_, i) =>
    collateAt(
      `${path}[${i}]`,
      tuples.map((tuple) => tuple[i]),
    ),
  );
}

function collateRecords(path: string, samples: readonly unknown[], keys: readonly string[]): unknown {
  const records = samples.filter(isPlainRecord);
  if (records.length < samples.length || !records.every((record) => hasKeys(record, keys))) {
    throw cannotCollate(path, `not all samples are records of the keys ${keys.join(', ')}`);
  }
  return Object.fromEntries(
    keys.map((key) => [
      key,
      collateAt(
        `${path}.${key}`,
        records.map((record) => record[key]),
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

function describe(value: unknown): string {
  if (value instanceof Tensor) return `${value.dtype} [${value.shape.join(', ')}]`;
  if (value === null || typeof value !== 'object') return value === null ? 'null' : `a ${typeof value}`;
  return `an object of ${value.constructor?.name ?? 'no class'}`;
}
