import { dispose, fill, zeros, type DataType, type Tensor } from '@tensorflow/tfjs-core';
import type { AllReduceOptions, Collective, ReduceOp } from '@acc/contract';

/** A collective as ranks that have no part of their own in it must know it. */
export interface Call {
  readonly verb:
    | 'broadcast'
    | 'allReduce'
    | 'allReduceCoalesced'
    | 'reduceScatter'
    | 'reduceScatterCoalesced'
    | 'allGather'
    | 'allGatherCoalesced'
    | 'barrier'
    | 'broadcastObject'
    | 'allGatherObject'
    | 'count';
  /** What it is made for. */
  readonly name?: string;
  readonly dtype?: string;
  readonly shape?: readonly number[];
  /** Of several tensors. */
  readonly list?: readonly { readonly dtype: string; readonly shape: readonly number[] }[];
  readonly op?: ReduceOp;
  /** Lists that are given away are reduced where they lie, others packed: all ranks do the same. */
  readonly donate?: boolean;
  readonly fromRank?: number;
  readonly wireDtype?: NonNullable<AllReduceOptions['wireDtype']>;
  readonly object?: unknown;
}

/** Calls what the `active` ranks call, with values that change nothing. */
export function takePart(call: Call, group: Collective, active: readonly number[]): void {
  const { verb, shape = [], fromRank = 0, op = 'sum', wireDtype } = call;
  const dtype = call.dtype as DataType;
  const wire = wireDtype ? { wireDtype } : {};
  if (verb === 'broadcast') {
    const root = active.includes(fromRank) ? fromRank : active[0]!;
    withOwn(zeros([...shape], dtype as 'float32'), (x) => group.broadcast(x, root));
  } else if (verb === 'allReduce') {
    withOwn(neutral(shape, dtype, op), (x) => group.allReduceAsync(x, op, wire).wait());
  } else if (verb === 'allReduceCoalesced') {
    const own = call.list!.map((x) => neutral(x.shape, x.dtype as DataType, op));
    const { donate = false } = call;
    dispose(group.allReduceCoalesced(own, op, { donate }));
    if (!donate) dispose(own);
  } else if (verb === 'reduceScatter') {
    withOwn(neutral(shape, dtype, op), (x) => group.reduceScatter(x, op, wire));
  } else if (verb === 'reduceScatterCoalesced') {
    const own = call.list!.map((x) => neutral(x.shape, x.dtype as DataType, op));
    dispose(group.reduceScatterCoalesced(own, op, { ...wire, donate: true }));
  } else if (verb === 'allGather' || verb === 'allGatherCoalesced') {
    // The others gather the tensors of a list one by one, too.
    for (const x of call.list ?? [{ dtype, shape }]) {
      const none = zeros([0, ...x.shape.slice(1)], x.dtype as 'float32');
      withOwn(none, (own) => group.allGather(own, wire));
    }
  }
  // The others are done with the announcement.
}

function withOwn(own: Tensor, call: (own: Tensor) => Tensor): void {
  call(own).dispose();
  own.dispose();
}

/** What leaves the other ranks' values as they are. */
function neutral(shape: readonly number[], dtype: DataType, op: ReduceOp): Tensor {
  const isFloat = dtype === 'float32';
  const values: Readonly<Record<ReduceOp, number>> = {
    sum: 0,
    mean: 0,
    product: 1,
    max: isFloat ? -Infinity : -(2 ** 31),
    min: isFloat ? Infinity : 2 ** 31 - 1,
  };
  return fill([...shape], values[op], dtype as 'float32');
}
