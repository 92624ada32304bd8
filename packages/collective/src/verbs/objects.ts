import { operator, tensorOnHost } from '@acc/native';
import type { CollectiveName } from '../agreement.js';
import type { Context } from '../context.js';
import { objectFromBytes, objectToBytes } from '../object-bytes.js';
import { sum, type Movable } from '../tensors.js';

const newEmpty = operator('aten::new_empty');

export function broadcastObject<O>(context: Context<Movable>, object: O, fromRank: number): O {
  context.requireRank(fromRank);
  const isRoot = context.rank === fromRank;
  const call = { collective: 'broadcastObject', root: fromRank } as const;
  const bytes = isRoot ? objectToBytes(object) : new Uint8Array();
  const length = context.calls.exchange(call, [bytes.length])[fromRank]![0]!;
  const words = context.calls.agree(call, true);
  using buffer = tensorOnHost(isRoot ? bytes : new Uint8Array(length), 'uint8', [length]);
  context.started(words, () => context.group.broadcast(buffer, fromRank, { words }), noResult, []).wait();
  return objectFromBytes(buffer.read() as Uint8Array) as O;
}

/** @param collective The name of the call that error messages show. */
export function allGatherObject<O>(
  context: Context<Movable>,
  object: O,
  collective: CollectiveName = 'allGatherObject',
): O[] {
  const call = { collective };
  const bytes = objectToBytes(object);
  const lengths = context.calls.exchange(call, [bytes.length]).map((numbers) => numbers[0]!);
  const words = context.calls.agree(call, true);
  using input = tensorOnHost(bytes, 'uint8', [bytes.length]);
  using output = newEmpty(input, [sum(lengths)], undefined, undefined, 'cpu');
  context
    .started(words, () => context.group.allGather(input, output, lengths, { words }), noResult, [])
    .wait();
  const all = output.read() as Uint8Array;
  let at = 0;
  return lengths.map((length) => objectFromBytes(all.subarray(at, (at += length))) as O);
}

function noResult(): void {}
