import type { Tensor } from '@tensorflow/tfjs-core';
import { AccError, type StateLayer } from '@acc/contract';
import type { Location } from '../location.js';
import { holdPieces, writePieces } from '../write/write-rank.js';
import { pieceOfTensor, type Piece } from '../write/pieces.js';
import { WEIGHTS, WEIGHTS_INDEX } from './safetensors-weights.js';

const NAMED_SO = /^model(?:-\d{5}-of-\d{5})?\.safetensors(?:\.index\.json)?$/;

export interface WriteWeightsOptions {
  /** A file has at most so many bytes of tensors, unless one alone has more. Default: one file. */
  readonly maxShardSize?: number | undefined;
}

export interface NamedWeight {
  readonly name: string;
  readonly tensor: Tensor;
}

/** Writes tensors into safetensors files. They stay the caller's. @returns The names of the files. */
export function writeWeights(
  location: Location,
  weights: readonly NamedWeight[],
  options: WriteWeightsOptions,
  layer: StateLayer,
): Promise<string[]> {
  const pieces = weights.map(({ name, tensor }) => pieceOfTensor(name, tensor, layer));
  return writeWeightPieces(location, pieces, options, layer);
}

/** The same for whole tensors of whatever kind. */
export async function writeWeightPieces(
  { storage, prefix }: Location,
  pieces: readonly Piece[],
  { maxShardSize = Infinity }: WriteWeightsOptions,
  layer?: StateLayer,
): Promise<string[]> {
  if (!(maxShardSize > 0)) {
    throw new AccError(
      'ACC_INVALID_OPTION',
      `maxShardSize is ${maxShardSize}, not a number of bytes above 0.`,
      {
        details: { path: ['maxShardSize'] },
      },
    );
  }
  const shards = cutIntoShards(pieces, maxShardSize);
  const names = shards.map((_, i) => shardName(i, shards.length));
  const map: Record<string, string> = {};
  for (const [i, shard] of shards.entries()) {
    const name = names[i]!;
    const file = { storage, key: prefix + name, name, metadata: { format: 'tf' } };
    const { parts } = await writePieces(holdPieces(shard), file, layer);
    for (const { key } of parts) map[key] = name;
  }
  const written = shards.length > 1 ? [...names, WEIGHTS_INDEX] : names;
  if (shards.length > 1) {
    const total = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const index = { metadata: { total_size: total }, weight_map: map };
    await storage.put(prefix + WEIGHTS_INDEX, new TextEncoder().encode(JSON.stringify(index, null, 2)));
  }
  await deleteOthers({ storage, prefix }, new Set(written));
  return written;
}

/** In their order, as many into each as fit. */
function cutIntoShards(pieces: readonly Piece[], maxBytes: number): Piece[][] {
  const shards: Piece[][] = [[]];
  let bytes = 0;
  for (const piece of pieces) {
    if (bytes > 0 && bytes + piece.byteLength > maxBytes) {
      shards.push([]);
      bytes = 0;
    }
    shards.at(-1)!.push(piece);
    bytes += piece.byteLength;
  }
  return shards;
}

function shardName(i: number, count: number): string {
  if (count === 1) return WEIGHTS;
  const padded = (n: number) => String(n).padStart(5, '0');
  return `model-${padded(i + 1)}-of-${padded(count)}.safetensors`;
}

/** What was written into the same place before, in another number of files. */
async function deleteOthers({ storage, prefix }: Location, kept: ReadonlySet<string>): Promise<void> {
  const names = (await storage.list(prefix)).map(({ key }) => key.slice(prefix.length));
  const others = names.filter((name) => NAMED_SO.test(name) && !kept.has(name));
  if (others.length > 0) await storage.delete(others.map((name) => prefix + name));
}
