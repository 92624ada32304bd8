import type { StoredWeight } from '@acc/checkpoint';
import { isRecord, parseJson } from '@acc/contract';
import { invalidMetadata, invalidPacked } from './errors.js';

/** The names of all tensors of a file, as JSON. */
const NAMES = 'tensor_names';
/** The class of tensors that are not packed. */
const PLAIN = 'Tensor';

/** A packed weight, as the metadata describe it. */
export interface TorchaoWeight {
  /** torchao's class. */
  readonly type: string;
  /** The ends of the names of its tensors. */
  readonly parts: readonly string[];
  /** How many elements of each dim share a scale. */
  readonly block: readonly unknown[];
  /** The shape of the values. Undefined if it is that of the numbers. */
  readonly shape: readonly unknown[] | undefined;
}

/**
 * The packed weights that the metadata of safetensors files describe, by name. Files of one model may have the
 * metadata of all its weights, or each its own.
 *
 * @throws AccError `ACC_PACKED_WEIGHTS_INVALID`.
 */
export function weightsOfTorchao(stored: readonly StoredWeight[]): Map<string, TorchaoWeight> {
  const weights = new Map<string, TorchaoWeight>();
  for (const metadata of new Set(stored.map((weight) => weight.metadata))) {
    if (!metadata || !Object.hasOwn(metadata, NAMES)) continue;
    for (const name of new Set(namesIn(metadata[NAMES]!))) {
      const weight = weightOf(name, Object.hasOwn(metadata, name) ? metadata[name] : undefined);
      if (weight.type !== PLAIN) weights.set(name, weight);
    }
  }
  return weights;
}

function namesIn(text: string): readonly string[] {
  const names = jsonOf(text);
  if (Array.isArray(names) && names.every((name) => typeof name === 'string')) return names;
  throw invalidMetadata(`have ${NAMES} that are no list of names`);
}

function weightOf(name: string, text: string | undefined): TorchaoWeight {
  const fail = (problem: string) => invalidPacked(name, problem);
  if (text === undefined) throw fail(`is in the ${NAMES} of the metadata, which do not describe it`);
  const json = jsonOf(text);
  if (!isRecord(json) || typeof json['_type'] !== 'string') throw fail('has a description without a _type');
  const { _type: type, _data: data, _tensor_data_names: parts } = json;
  if (type === PLAIN) return { type, parts: [], block: [], shape: undefined };
  if (!isRecord(data) || !isList(parts) || !parts.every((part) => typeof part === 'string')) {
    throw fail('has a description without _data or _tensor_data_names');
  }
  const { block_size: block, shape } = data;
  return { type, parts, block: isList(block) ? block : [], shape: isList(shape) ? shape : undefined };
}

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

function jsonOf(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
