import {
  afterAll,
  PendingResult,
  type CoalescedOptions,
  type NativeTensor,
  type Pending,
  type ReduceOp,
} from '@acc/contract';
import type { Tensor as Native } from '@acc/native';
import { Context } from '../context.js';
import { nativeBridge, requireReducible, rowsOfPart, sizeOf, sum, type Movable } from '../tensors.js';
import { allGather, broadcast } from './movements.js';
import { pack, placesByDtype, unpack } from './packing.js';
import { allReduce, reduceScatter } from './reductions.js';

/** How a list of tensors becomes one, travels, and becomes a list again. */
interface Journey {
  /** Pieces that each tensor is cut into before they are packed, and made of afterwards. */
  readonly lanesBefore: number;
  readonly lanesAfter: number;
  /** What becomes of a tensor's shape. */
  shapeOf(shape: readonly number[]): readonly number[];
  start(context: Context<NativeTensor>, packed: Native): Pending<NativeTensor>;
}

export function broadcastCoalesced<T extends Movable>(
  context: Context<T>,
  xs: readonly T[],
  fromRank: number,
): Pending<T[]> {
  return coalesced(context, xs, 'broadcastCoalesced', {
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
  if (donate && context.bridge.writable)
    return allReduceInPlace(context, context.bridge.writable(xs), op, agreed);
  const summed = coalesced(context, xs, 'allReduceCoalesced', {
    lanesBefore: 1,
    lanesAfter: 1,
    shapeOf: (shape) => shape,
    start: (native, packed) => allReduce(native, packed, op, { agreed }),
  });
  if (donate) for (const x of xs) x.dispose();
  return summed;
}

/** In the memory of the tensors themselves. */
function allReduceInPlace<T extends Movable>(
  context: Context<T>,
  xs: readonly T[],
  op: ReduceOp,
  agreed: boolean | undefined,
): Pending<T[]> {
  const natives = xs.map((x) => context.bridge.borrow!(x));
  const calls = [...placesByDtype(natives).values()].map((places) => {
    const tensors = places.map((place) => natives[place]!);
    requireReducible(tensors[0]!, op);
    const shapes = tensors.map(({ shape }) => shape);
    const calls = agreed ? context.calls : context.calls.coalescing(shapes);
    const shape = [sum(shapes.map(sizeOf))];
    const words = calls.agree({ collective: 'allReduce', dtype: tensors[0]!.dtype, shape, op }, agreed);
    return context.started(
      words,
      () => context.group.allReduceMany(tensors, op, { words }),
      () => undefined,
    );
  });
  return afterAll(calls, () => [...xs]);
}

export function allGatherCoalesced<T extends Movable>(context: Context<T>, xs: readonly T[]): Pending<T[]> {
  return coalesced(context, xs, 'allGatherCoalesced', {
    lanesBefore: 1,
    lanesAfter: context.size,
    shapeOf: ([rows = 1, ...inner]) => [rows * context.size, ...inner],
    start: (native, packed) => allGather(native, packed),
  });
}

export function reduceScatterCoalesced<T extends Movable>(
  context: Context<T>,
  xs: readonly T[],
  op: ReduceOp,
): Pending<T[]> {
  return coalesced(context, xs, 'reduceScatterCoalesced', {
    lanesBefore: context.size,
    lanesAfter: 1,
    shapeOf: (shape) => [rowsOfPart(shape, context.size, 'reduceScatterCoalesced'), ...shape.slice(1)],
    start: (native, packed) => reduceScatter(native, packed, op),
  });
}

/** One call for each element type, in the order in which they occur. */
function coalesced<T extends Movable>(
  context: Context<T>,
  xs: readonly T[],
  name: string,
  { lanesBefore, lanesAfter, shapeOf, start }: Journey,
): Pending<T[]> {
  const shapes = xs.map(({ shape }) => shapeOf(shape));
  const natives = xs.map((x) => context.native(x, name));
  const calls = pack(natives, lanesBefore).map(({ places, buffer }) => {
    const of = places.map((place) => xs[place]!.shape);
    const pending = start(new Context(context.group, nativeBridge, context.calls.coalescing(of)), buffer);
    buffer.dispose();
    return { places, pending };
  });
  for (const native of natives) native.dispose();
  return new PendingResult(
    calls.map(({ pending }) => pending),
    () => {
      const results = new Array<T>(xs.length);
      calls.forEach(({ places, pending }) => {
        const parts = unpack(
          pending.wait() as Native,
          lanesAfter,
          places.map((place) => shapes[place]!),
        );
        places.forEach((place, i) => {
          results[place] = context.bridge.fromNative(parts[i]!, xs[place]!.dtype);
        });
      });
      return results;
    },
  );
}
