import { concat, reshape, split, tidy, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import type { Collective } from '@acc/contract';
import { assignRecords, packedOf, recordTensor, replaceInitial, type PackedRecords } from '@acc/kernels';

/**
 * Variables are sent together in tensors of at most this many elements (4 MiB of float32), and larger
 * ones alone. While a chunk is sent, its elements are in memory several times.
 */
const CHUNK_ELEMENTS = 1024 * 1024;

/** Copies the values of variables on `fromRank` to every rank. */
export function broadcastVariables(
  variables: readonly Variable[],
  collective: Collective,
  fromRank = 0,
): void {
  const plain = variables.filter((variable) => {
    const packed = packedOf(variable);
    if (packed) broadcastRecords(variable, packed.records, { collective, fromRank });
    return !packed;
  });
  for (const chunk of chunksByDtype(plain)) {
    tidy(() => {
      const [first] = chunk as [Variable];
      if (chunk.length === 1) return assign(first, collective.broadcast(first as Tensor, fromRank));
      const flat = concat(chunk.map((v) => reshape(v as Tensor, [-1])));
      const received = collective.broadcast(flat, fromRank);
      const parts = split(
        received,
        chunk.map((v) => v.size),
      );
      chunk.forEach((v, i) => assign(v, reshape(parts[i]!, v.shape)));
    });
  }
}

/** The values of a packed variable travel as they lie in memory. */
function broadcastRecords(
  variable: Variable,
  records: PackedRecords,
  { collective, fromRank }: { readonly collective: Collective; readonly fromRank: number },
): void {
  if (collective.size === 1) return;
  tidy(() => {
    const received = collective.broadcast(recordTensor(records), fromRank);
    if (collective.rank !== fromRank) assignRecords(variable, received);
  });
}

function assign(variable: Variable, values: Tensor): void {
  replaceInitial(variable, () => variable.assign(values));
}

function chunksByDtype(variables: readonly Variable[]): Variable[][] {
  const open = new Map<string, { chunk: Variable[]; elements: number }>();
  const chunks: Variable[][] = [];
  for (const variable of variables) {
    let current = open.get(variable.dtype);
    if (!current || current.elements + variable.size > CHUNK_ELEMENTS) {
      current = { chunk: [], elements: 0 };
      open.set(variable.dtype, current);
      chunks.push(current.chunk);
    }
    current.chunk.push(variable);
    current.elements += variable.size;
  }
  return chunks;
}
