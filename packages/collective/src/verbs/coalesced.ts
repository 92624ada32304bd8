import {
  afterAll,
  PendingResult,
  type CoalescedOptions,
  type NativeTensor,
  type Pending,
  type ReduceOp,
  type ShardVerbOptions,
} from '@acc/contract';
import type { Tensor as Native } from '@acc/native';
import { Context, orFreed } from '../context.js';
import { placeIn, travelling } from '../shards.js';
import {
  nativeBridge,
  requireCount,
  requirePlace,
  requireReducible,
  rowsOfShard,
  sizeOf,
  sum,
  type Movable,
} from '../tensors.js';
import { allGather, broadcast } from './movements.js';
import { pack, placesByDtype, unpack } from './packing.js';
import { allReduce, reduceScatter } from './reductions.js';

/** How a list of tensors is packed into one tensor, sent, and unpacked. */
interface Journey {
  readonly verb: string;
  /**
   * The number of pieces that each tensor is cut into before packing. `lanesAfter` is the number of
   * pieces of each result.
   */
  readonly lanesBefore: number;
  readonly lanesAfter: number;
  /** Maps the shape of a tensor to the shape of its result. */
  shapeOf(shape: readonly number[]): readonly number[];
  start(context: Context<NativeTensor>, packed: Native): Pending<NativeTensor>;
}

export function broadcastCoalesced<T extends Movable>(
  context: Context<T>,
  xs: readonly T[],
  fromRank: number,
): Pending<T[]> {
  return coalesced(context, xs, {
    verb: 'broadcastCoalesced',
    lanesBefore: 1,
    lanesAfter: 1,
    shapeOf: (shape) => shape,
    start: (native, packed) => broadcast(native, packed, fromRank),
  });
}

export function allReduceCoalesced<T extends Movable>(
  context: Context<T>,
  xs: readonly T[],
  op: ReduceOp,
  { donate, agreed }: CoalescedOptions,
): Pending<T[]> {
  if (donate) return allReduceInPlace(context, donated(context, xs), op, agreed);
  return coalesced(context, xs, {
    verb: 'allReduceCoalesced',
    lanesBefore: 1,
    lanesAfter: 1,
    shapeOf: (shape) => shape,
    start: (native, packed) => allReduce(native, packed, op, { agreed }),
  });
}

/** Native tensors that are overwritten, and the tensors that have their memory afterwards. */
interface Donated<T> {
  readonly natives: readonly NativeTensor[];
  /** Tensors that are disposed if the call fails. */
  readonly holds: readonly Movable[];
  results(): T[];
}

/**
 * Takes over tensors. Memory that libtorch can write is used itself. Otherwise the values are copied
 * into memory of libtorch once, and the results are made from that.
 */
function donated<T extends Movable>(context: Context<T>, xs: readonly T[]): Donated<T> {
  const { bridge } = context;
  if (bridge.writable) {
    const owned = bridge.writable(xs);
    return { natives: owned.map((x) => bridge.borrow!(x)), holds: owned, results: () => owned };
  }
  const dtypes = xs.map(({ dtype }) => dtype);
  const natives = context.nativesToWrite(xs, 'allReduceCoalesced');
  const results = () => natives.map((native, i) => bridge.fromNative(native, dtypes[i]!));
  return { natives, holds: natives, results };
}

/** Reduces in the memory of the native tensors, without packing them. */
function allReduceInPlace<T extends Movable>(
  context: Context<T>,
  { natives, holds, results }: Donated<T>,
  op: ReduceOp,
  agreed: boolean | undefined,
): Pending<T[]> {
  const calls = [...placesByDtype(natives).values()].map((places) => {
    const tensors = places.map((place) => natives[place]!);
    const shapes = tensors.map(({ shape }) => shape);
    const calls = agreed ? context.calls : context.calls.coalescing(shapes);
    const shape = [sum(shapes.map(sizeOf))];
    const call = { collective: 'allReduce', dtype: tensors[0]!.dtype, shape, op } as const;
    const words = orFreed(holds, () => {
      requireReducible(tensors[0]!, op);
      return calls.agree(call, agreed);
    });
    const start = () => context.group.allReduceMany(tensors, op, { words });
    return context.started(words, start, () => undefined, holds);
  });
  return afterAll(calls, results);
}

export function allGatherCoalesced<T extends Movable>(
  context: Context<T>,
  xs: readonly T[],
  options: ShardVerbOptions<readonly T[]>,
): Pending<T[]> {
  const given = options.agreed ? { agreed: true } : {};
  const journey: Journey = {
    verb: 'allGatherCoalesced',
    lanesBefore: 1,
    lanesAfter: context.size,
    shapeOf: ([rows = 1, ...inner]) => [rows * context.size, ...inner],
    start: (native, packed) => allGather(native, packed, { even: true, ...given }),
  };
  return coalesced(context, xs, journey, options);
}

export function reduceScatterCoalesced<T extends Movable>(
  context: Context<T>,
  xs: readonly T[],
  op: ReduceOp,
  options: ShardVerbOptions<readonly T[]>,
): Pending<T[]> {
  const given = options.agreed ? { agreed: true } : {};
  const journey: Journey = {
    verb: 'reduceScatterCoalesced',
    lanesBefore: context.size,
    lanesAfter: 1,
    shapeOf: (shape) => [rowsOfShard(shape, context.size, 'reduceScatterCoalesced'), ...shape.slice(1)],
    start: (native, packed) => reduceScatter(native, packed, op, given),
  };
  return coalesced(context, xs, journey, options);
}

/** Makes one call for each element type, in the order of first occurrence. */
function coalesced<T extends Movable>(
  context: Context<T>,
  xs: readonly T[],
  journey: Journey,
  options: ShardVerbOptions<readonly T[]> = {},
): Pending<T[]> {
  const { verb, lanesBefore, lanesAfter, shapeOf, start } = journey;
  const { donate, wireDtype, into } = options;
  const results = xs.map((x) => ({ dtype: x.dtype, shape: shapeOf(x.shape) }));
  if (into) requireCount(into, xs, verb);
  into?.forEach((one, i) => requirePlace(one, results[i]!, verb));
  const shapes = xs.map(({ shape }) => shape);
  const natives = xs.map((x) => travelling(context, x, verb, { wireDtype }));
  if (donate) for (const x of xs) x.dispose();
  const calls = orFreed(natives, () =>
    pack(natives, lanesBefore).map(({ places, buffer }) => {
      const of = places.map((place) => shapes[place]!);
      const native = new Context(context.group, nativeBridge, context.calls.coalescing(of));
      const pending = orFreed([buffer], () => start(native, buffer));
      buffer.dispose();
      return { places, pending };
    }),
  );
  const targets = into?.map((one, i) => placeIn(context, one, wireDtype ? 'float32' : natives[i]!.dtype));
  for (const native of natives) native.dispose();
  const holds = (targets ?? []).filter((target) => target !== undefined);
  const created = () => {
    const tensors = new Array<T>(xs.length);
    calls.forEach(({ places, pending }) => {
      const wanted = places.map((place) => ({ shape: results[place]!.shape, target: targets?.[place] }));
      const received = orFreed(holds, () => pending.wait());
      const parts = unpack(received as Native, lanesAfter, wanted, wireDtype && 'float32');
      places.forEach((place, i) => {
        tensors[place] = context.bridge.fromNative(parts[i]!, results[place]!.dtype);
      });
    });
    return tensors;
  };
  return new PendingResult(
    calls.map(({ pending }) => pending),
    created,
  );
}
