import { dispose, fill, zeros, type DataType, type Tensor } from '@tensorflow/tfjs-core';
import type { AllReduceOptions, Collective, ReduceOp } from '@acc/contract';

/** The properties of a collective that ranks without data must know. */
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
  /** The name that the call is made for. */
  readonly name?: string;
  readonly dtype?: string;
  readonly shape?: readonly number[];
  /** The tensors of a call on a list. */
  readonly list?: readonly { readonly dtype: string; readonly shape: readonly number[] }[];
  readonly op?: ReduceOp;
  /** Donated lists are reduced in place, other lists are packed. All ranks must do the same. */
  readonly donate?: boolean;
  readonly fromRank?: number;
  readonly wireDtype?: NonNullable<AllReduceOptions['wireDtype']>;
  readonly object?: unknown;
}

/** Makes the calls of the `active` ranks, with values that change nothing. */
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
    // The other ranks also gather the tensors of a list one by one.
    for (const x of call.list ?? [{ dtype, shape }]) {
      const none = zeros([0, ...x.shape.slice(1)], x.dtype as 'float32');
      withOwn(none, (own) => group.allGather(own, wire));
    }
  }
  // The other ranks need nothing more than the announcement.
}

function withOwn(own: Tensor, call: (own: Tensor) => Tensor): void {
  call(own).dispose();
  own.dispose();
}

/** A tensor that leaves the values of the other ranks unchanged. */
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
