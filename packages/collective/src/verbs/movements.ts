import { AccError, type AllGatherOptions, type NativeDtype, type Pending } from '@acc/contract';
import { operator, type Tensor as Native } from '@acc/native';
import type { CallDescription, CollectiveName, Words } from '../agreement.js';
import { described, orFreed, type Context } from '../context.js';
import { arrival, arriving, requireFits, travelling } from '../shards.js';
import { requirePlace, rowsOfShard, sizeOf, sum, type Movable } from '../tensors.js';
import { bytesOf } from '../traffic.js';
import { decodeHeader, encodeHeader, NO_HEADER } from './messages.js';

const cloneNative = operator('aten::clone');

export function broadcast<T extends Movable>(context: Context<T>, x: T, fromRank: number): Pending<T> {
  context.requireRank(fromRank);
  const input = context.native(x, 'broadcast');
  const call = { ...described('broadcast', input), root: fromRank };
  const words = orFreed([input], () => context.calls.agree(call));
  const buffer = broadcastBuffer(context, input, fromRank);
  const start = () => context.group.broadcast(buffer, fromRank, { words });
  return context.started(words, start, () => context.bridge.fromNative(buffer, x.dtype), [buffer]);
}

/** Memory that `input`, which is taken over, is sent from or received in. */
function broadcastBuffer<T extends Movable>(context: Context<T>, input: Native, fromRank: number): Native {
  // What a bridge copied is nobody else's.
  if (!context.bridge.borrow) return input;
  using shared = input;
  return context.rank === fromRank ? cloneNative(shared) : context.empty(shared, shared.shape);
}

export function allGather<T extends Movable>(
  context: Context<T>,
  x: T,
  options: AllGatherOptions<T>,
): Pending<T> {
  const { agreed, even = agreed, into } = options;
  const [localRows = 1, ...inner] = x.shape;
  const { dtype } = x;
  const evenShape = [localRows * context.size, ...inner];
  if (even) requireFits(x, evenShape, into, 'allGather');
  const input = travelling(context, x, 'allGather', options);
  const { words, rows, shape } = orFreed([input], () => {
    if (even)
      return {
        words: context.calls.agree(described('allGather', input), agreed),
        rows: [],
        shape: evenShape,
      };
    const exchanged = exchangeRows(context, 'allGather', input);
    const shape = [sum(exchanged.rows), ...inner];
    // The shape is known only after the exchange of row counts.
    if (into) requirePlace(into, { dtype, shape }, 'allGather');
    return { ...exchanged, shape };
  });
  const to = arrival(context, input, shape, options);
  const counts = rows.map((n) => n * sizeOf(inner));
  const isEven = counts.every((count) => count === counts[0]);
  const start = () => context.group.allGather(input, to.output, isEven ? undefined : counts, { words });
  return arriving(context, words, start, { input, to, dtype });
}

export function gather<T extends Movable>(context: Context<T>, x: T, toRank: number): Pending<T | null> {
  context.requireRank(toRank);
  const input = context.native(x, 'gather');
  const { words, rows, inner } = orFreed([input], () => exchangeRows(context, 'gather', input, toRank));
  const isRoot = context.rank === toRank;
  const output = context.empty(input, isRoot ? [sum(rows), ...inner] : [0]);
  const counts = rows.map((n) => n * sizeOf(inner));
  const sent = counts.map((_, rank) => (rank === toRank ? counts[context.rank]! : 0));
  const received = isRoot ? counts : counts.map(() => 0);
  const lengths = { sent, received, most: Math.max(...counts) };
  const start = () => context.group.allToAll(input, output, lengths, { words });
  const finish = () => {
    input.dispose();
    if (isRoot) return context.bridge.fromNative(output, x.dtype);
    output.dispose();
    return null;
  };
  return context.started(words, start, finish, [input, output]);
}

/** Only `fromRank` has the tensor, so a wrong argument there must become an error on every rank. */
export function scatter<T extends Movable>(context: Context<T>, x: T | null, fromRank: number): Pending<T> {
  context.requireRank(fromRank);
  const { rank: local, size } = context;
  const call: CallDescription = { collective: 'scatter', root: fromRank };
  const given = x === null ? undefined : context.native(x, 'scatter');
  const header = given ? { dtype: x!.dtype, nativeDtype: given.dtype, shape: given.shape } : NO_HEADER;
  const { dtype, nativeDtype, shape, rows } = orFreed(given ? [given] : [], () => {
    const headers = context.calls.exchange(call, encodeHeader(header)).map(decodeHeader);
    if (headers.some((one, rank) => (one.dtype === NO_HEADER.dtype) === (rank === fromRank))) {
      throw new AccError(
        'ACC_COLLECTIVE_SHAPE',
        `scatter takes a tensor on rank ${fromRank} and null on other ranks.`,
        {
          help: `Call scatter(isRoot ? tensor : null, ${fromRank}), where isRoot is true on rank ${fromRank} only.`,
        },
      );
    }
    const known = headers[fromRank]!;
    return { ...known, rows: rowsOfShard(known.shape, size, 'scatter') };
  });
  const partShape = [rows, ...shape.slice(1)];
  const most = sizeOf(partShape);
  const input = given ?? context.emptyOf(nativeDtype as NativeDtype, [0]);
  const output = context.emptyOf(nativeDtype as NativeDtype, partShape);
  const sent = Array.from({ length: size }, () => (local === fromRank ? most : 0));
  const received = sent.map((_, rank) => (rank === fromRank ? most : 0));
  const words = context.calls.agree(call, true);
  const start = () => context.group.allToAll(input, output, { sent, received, most }, { words });
  return context.moved(words, start, { input, output, dtype: dtype as T['dtype'] });
}

export function allToAll<T extends Movable>(
  context: Context<T>,
  x: T,
  rows: readonly number[] | undefined,
): Pending<T> {
  if (rows) return allToAllUneven(context, x, rows);
  rowsOfShard(x.shape, context.size, 'allToAll');
  const input = context.native(x, 'allToAll');
  const words = orFreed([input], () => context.calls.agree(described('allToAll', input)));
  const output = context.empty(input, input.shape);
  const start = () => context.group.allToAll(input, output, undefined, { words });
  return context.moved(words, start, { input, output, dtype: x.dtype });
}

function allToAllUneven<T extends Movable>(context: Context<T>, x: T, rows: readonly number[]): Pending<T> {
  requireRows(rows, x.shape, context.size);
  const input = context.native(x, 'allToAll');
  const inner = input.shape.slice(1);
  const call = { ...described('allToAll', input), hasFreeRows: true };
  const table = orFreed([input], () => context.calls.exchange({ ...call, sentBytes: 0 }, rows));
  const received = table.map((sent) => sent[context.rank]!);
  const width = sizeOf(inner);
  const output = context.empty(input, [sum(received), ...inner]);
  const lengths = {
    sent: rows.map((n) => n * width),
    received: received.map((n) => n * width),
    most: Math.max(...table.map((sent) => Math.max(...sent))) * width,
  };
  const toOthers = sum(rows) - rows[context.rank]!;
  const sentBytes = toOthers * bytesOf(input.dtype, inner);
  const words = context.calls.agree({ ...call, sentBytes }, true);
  const start = () => context.group.allToAll(input, output, lengths, { words });
  return context.moved(words, start, { input, output, dtype: x.dtype });
}

/**
 * The number of rows of every rank, by rank, and the shape of a row, which is the same on every
 * rank.
 */
function exchangeRows<T extends Movable>(
  context: Context<T>,
  collective: CollectiveName,
  input: Native,
  root?: number,
): { words: Words; rows: number[]; inner: readonly number[] } {
  const shape = input.shape.length === 0 ? [1] : input.shape;
  const inner = shape.slice(1);
  const call: CallDescription = {
    collective,
    dtype: input.dtype,
    shape,
    hasFreeRows: true,
    ...(root !== undefined && { root }),
  };
  const rows = context.calls.exchange({ ...call, sentBytes: 0 }, [shape[0]!]).map((numbers) => numbers[0]!);
  return { words: context.calls.agree(call, true), rows, inner };
}

function requireRows(rows: readonly number[], shape: readonly number[], size: number): void {
  const areCounts = rows.every((n) => Number.isInteger(n) && n >= 0);
  if (rows.length === size && areCounts && sum(rows) === shape[0]) return;
  throw new AccError(
    'ACC_COLLECTIVE_SHAPE',
    `allToAll cannot send [${rows.join(',')}] rows of a tensor of shape [${shape.join(',')}] to ${size} ranks.`,
    { help: 'Give one number of rows for each rank. Their sum must be the number of rows of the tensor.' },
  );
}
