import { AccError, type NativeDtype, type StateLayer, type TensorBytes } from '@acc/contract';
import { randomHex } from '@acc/platform';
import { storedDtypeOf } from '../format/dtypes.js';
import type { Location } from '../location.js';
import { snapshotItems, writeItems } from '../write/write-rank.js';
import { itemOnDemand, type WriteItem } from '../write/items.js';
import { WEIGHTS, WEIGHTS_INDEX } from './safetensors-weights.js';

const NAMED_SO = /^model(?:-\d{5}-of-\d{5}(?:\.[0-9a-f]{8})?)?\.safetensors(?:\.index\.json)?$/;

export interface WriteWeightsOptions {
  /** The most bytes of tensors in a file. A single tensor may exceed it. Default: one file. */
  readonly maxShardSize?: number | undefined;
}

/** A whole tensor to write. */
export interface WrittenWeight {
  readonly name: string;
  readonly dtype: NativeDtype;
  readonly shape: readonly number[];
  /**
   * Called once, immediately before the tensor is written. The previous tensor's bytes are disposed
   * by then.
   */
  open(): Promise<TensorBytes>;
}

/** Writes tensors into safetensors files, one after the other. @returns The names of the files. */
export function writeWeights(
  location: Location,
  weights: readonly WrittenWeight[],
  options: WriteWeightsOptions,
  layer: StateLayer,
): Promise<string[]> {
  return writeWeightFiles(location, itemsOf(weights), options, layer);
}

/**
 * Opens tensors one after the other, in the order in which `writeWeights` with the same options does.
 * Ranks that have shards of them call it while one of them writes: they gather together.
 */
export async function openAsWritten(
  weights: readonly WrittenWeight[],
  { maxShardSize = Infinity }: WriteWeightsOptions,
): Promise<void> {
  for (const shard of cutIntoShards(itemsOf(weights), maxShardSize)) {
    for (const { item } of snapshotItems(shard)) (await item.open(undefined)).dispose();
  }
}

const itemsOf = (weights: readonly WrittenWeight[]): WriteItem[] =>
  weights.map(({ name, dtype, shape, open }) =>
    itemOnDemand({ name, dtype: storedDtypeOf(dtype), shape }, open),
  );

/**
 * Writes whole tensors into safetensors files. An existing set of files stays complete until the
 * new set is complete: the index, which names the files of its set, is replaced atomically.
 */
export async function writeWeightFiles(
  { storage, prefix }: Location,
  items: readonly WriteItem[],
  { maxShardSize = Infinity }: WriteWeightsOptions,
  layer?: StateLayer,
): Promise<string[]> {
  const shards = cutIntoShards(items, maxShardSize);
  const present = await weightFiles({ storage, prefix });
  const names = shardNames(shards.length, present);
  const map: Record<string, string> = {};
  for (const [i, shard] of shards.entries()) {
    const name = names[i]!;
    const file = { storage, key: prefix + name, name, metadata: { format: 'tf' } };
    const { parts } = await writeItems(snapshotItems(shard), file, layer);
    for (const { key } of parts) map[key] = name;
  }
  const written = shards.length > 1 ? [...names, WEIGHTS_INDEX] : names;
  if (shards.length > 1) {
    const total = items.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const index = { metadata: { total_size: total }, weight_map: map };
    await storage.put(prefix + WEIGHTS_INDEX, new TextEncoder().encode(JSON.stringify(index, null, 2)));
  }
  await deleteOthers({ storage, prefix }, present, written);
  return written;
}

/** Fills shards in the order of the items, each with as many items as fit. */
function cutIntoShards(items: readonly WriteItem[], maxBytes: number): WriteItem[][] {
  if (!(maxBytes > 0)) {
    throw new AccError(
      'ACC_INVALID_OPTION',
      `maxShardSize is ${maxBytes}; expected a number of bytes above 0.`,
      { help: 'Leave it out for the default size.', details: { path: ['maxShardSize'] } },
    );
  }
  const shards: WriteItem[][] = [[]];
  let bytes = 0;
  for (const item of items) {
    if (bytes > 0 && bytes + item.byteLength > maxBytes) {
      shards.push([]);
      bytes = 0;
    }
    shards.at(-1)!.push(item);
    bytes += item.byteLength;
  }
  return shards;
}

/**
 * Names for the new files. They are unused names if there are several files, because files of an
 * existing set must not be replaced one by one. A single file is replaced atomically.
 */
function shardNames(count: number, present: readonly string[]): string[] {
  if (count === 1) return [WEIGHTS];
  const padded = (n: number) => String(n).padStart(5, '0');
  const named = (id: string) =>
    Array.from({ length: count }, (_, i) => `model-${padded(i + 1)}-of-${padded(count)}${id}.safetensors`);
  const plain = named('');
  return plain.some((name) => present.includes(name)) ? named(`.${randomHex(4)}`) : plain;
}

/** The weight files in a location. */
async function weightFiles({ storage, prefix }: Location): Promise<string[]> {
  const names = (await storage.list(prefix)).map(({ key }) => key.slice(prefix.length));
  return names.filter((name) => NAMED_SO.test(name));
}

/**
 * Deletes the files of an earlier set. The index is deleted first, so that the remaining files are
 * no longer a set.
 */
async function deleteOthers(
  { storage, prefix }: Location,
  present: readonly string[],
  written: readonly string[],
): Promise<void> {
  const others = present.filter((name) => !written.includes(name));
  const isIndex = (name: string) => name === WEIGHTS_INDEX;
  for (const names of [others.filter(isIndex), others.filter((name) => !isIndex(name))]) {
    if (names.length > 0) await storage.delete(names.map((name) => prefix + name));
  }
}
