import { clone, reshape, type Tensor } from '@tensorflow/tfjs-core';
import {
  AccError,
  allPending,
  type AllReduceOptions,
  type CoalescedOptions,
  type Collective,
  type Pending,
  type ReduceOp,
} from '@acc/contract';
import { BlockingVerbs } from './blocking-verbs.js';
import { objectFromBytes, objectToBytes } from './object-bytes.js';
import { ranksOfSubgroup } from './subgroup-ranks.js';
import { requireNarrowable, requireNumeric, requireRank, requireReducible, rowsOfPart } from './tensors.js';

/**
 * The collectives of a group of one: what they give when nobody else is there. They refuse what several ranks would. No network,
 * nothing native.
 */
export class SingleCollective extends BlockingVerbs<Tensor> implements Collective {
  readonly rank = 0;
  readonly size = 1;
  readonly engine = 'single';
  readonly worldRanks = [0];

  subgroup(ranks: readonly number[]): SingleCollective {
    ranksOfSubgroup([ranks], [{ rank: 0 }]);
    return new SingleCollective();
  }

  named<R>(_name: string, fn: () => R): R {
    return fn();
  }

  broadcastAsync(x: Tensor, fromRank = 0): Pending<Tensor> {
    requireRank(fromRank, 1);
    return moved('broadcast', x);
  }

  allReduceAsync(x: Tensor, op: ReduceOp = 'sum', options: AllReduceOptions = {}): Pending<Tensor> {
    if (options.wireDtype) requireNarrowable(x, options.wireDtype);
    return reduced('allReduce', x, op, options.donate);
  }

  reduceAsync(x: Tensor, op: ReduceOp = 'sum', toRank = 0): Pending<Tensor> {
    requireRank(toRank, 1);
    return reduced('reduce', x, op);
  }

  allGatherAsync(x: Tensor): Pending<Tensor> {
    return moved('allGather', x, joined);
  }

  gatherAsync(x: Tensor, toRank = 0): Pending<Tensor> {
    requireRank(toRank, 1);
    return moved('gather', x, joined);
  }

  scatterAsync(x: Tensor | null, fromRank = 0): Pending<Tensor> {
    requireRank(fromRank, 1);
    if (x) return moved('scatter', x);
    throw new AccError('ACC_COLLECTIVE_SHAPE', 'scatter takes a tensor on rank 0, null elsewhere.');
  }

  reduceScatterAsync(x: Tensor, op: ReduceOp = 'sum'): Pending<Tensor> {
    rowsOfPart(x.shape, 1, 'reduceScatter');
    return reduced('reduceScatter', x, op);
  }

  allToAllAsync(x: Tensor): Pending<Tensor> {
    return moved('allToAll', x);
  }

  sendAsync(): Pending<void> {
    throw alone();
  }

  recvAsync(): Pending<Tensor> {
    throw alone();
  }

  broadcastCoalescedAsync(xs: readonly Tensor[], fromRank = 0): Pending<Tensor[]> {
    requireRank(fromRank, 1);
    return allPending(xs.map((x) => moved('broadcastCoalesced', x)));
  }

  allReduceCoalescedAsync(
    xs: readonly Tensor[],
    op: ReduceOp = 'sum',
    options: CoalescedOptions = {},
  ): Pending<Tensor[]> {
    const given = new Set<Tensor>();
    return allPending(
      xs.map((x) => {
        // A tensor that is in the list twice becomes two.
        const donate = options.donate && !given.has(x);
        given.add(x);
        return reduced('allReduceCoalesced', x, op, donate);
      }),
    );
  }

  allGatherCoalescedAsync(xs: readonly Tensor[]): Pending<Tensor[]> {
    return allPending(xs.map((x) => moved('allGatherCoalesced', x, joined)));
  }

  reduceScatterCoalescedAsync(xs: readonly Tensor[], op: ReduceOp = 'sum'): Pending<Tensor[]> {
    return allPending(xs.map((x) => reduced('reduceScatterCoalesced', x, op)));
  }

  barrier(): void {}

  broadcastObject<O>(object: O, fromRank = 0): O {
    requireRank(fromRank, 1);
    return copyOf(object);
  }

  allGatherObject<O>(object: O): O[] {
    return [copyOf(object)];
  }

  close(): void {}
}

function moved(verb: string, x: Tensor, move: (x: Tensor) => Tensor = clone): Pending<Tensor> {
  requireNumeric(x, verb);
  return done(move(x));
}

function reduced(verb: string, x: Tensor, op: ReduceOp, donate = false): Pending<Tensor> {
  requireNumeric(x, verb);
  requireReducible(x, op);
  return done(donate ? x : clone(x));
}

/** There is nobody to wait for. */
function done<T>(value: T): Pending<T> {
  return { isDone: true, wait: () => value };
}

function copyOf<O>(object: O): O {
  return objectFromBytes(objectToBytes(object)) as O;
}

function joined(x: Tensor): Tensor {
  return x.rank === 0 ? reshape(x, [1]) : clone(x);
}

function alone(): AccError {
  return new AccError('ACC_COLLECTIVE_RANK', 'There is no other rank.');
}
