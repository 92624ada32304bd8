import { clone, reshape, type Tensor } from '@tensorflow/tfjs-core';
import {
  AccError,
  type AllReduceOptions,
  type CoalescedOptions,
  type Collective,
  type Pending,
  type ReduceOp,
} from '@acc/contract';
import { BlockingVerbs } from './blocking-verbs.js';
import { done } from './pending.js';

/** The collectives of a group of one: what they give when nobody else is there. No network, nothing native. */
export class SingleCollective extends BlockingVerbs<Tensor> implements Collective {
  readonly rank = 0;
  readonly size = 1;
  readonly engine = 'single';

  broadcastAsync(x: Tensor): Pending<Tensor> {
    return done(clone(x));
  }

  allReduceAsync(x: Tensor, _op?: ReduceOp, options: AllReduceOptions = {}): Pending<Tensor> {
    return done(options.donate ? x : clone(x));
  }

  reduceAsync(x: Tensor): Pending<Tensor> {
    return done(clone(x));
  }

  allGatherAsync(x: Tensor): Pending<Tensor> {
    return done(joined(x));
  }

  gatherAsync(x: Tensor): Pending<Tensor> {
    return done(joined(x));
  }

  scatterAsync(x: Tensor | null): Pending<Tensor> {
    if (x) return done(clone(x));
    throw new AccError('ACC_COLLECTIVE_SHAPE', 'scatter takes a tensor on rank 0, null elsewhere.');
  }

  reduceScatterAsync(x: Tensor): Pending<Tensor> {
    return done(clone(x));
  }

  allToAllAsync(x: Tensor): Pending<Tensor> {
    return done(clone(x));
  }

  sendAsync(): Pending<void> {
    throw alone();
  }

  recvAsync(): Pending<Tensor> {
    throw alone();
  }

  broadcastCoalescedAsync(xs: readonly Tensor[]): Pending<Tensor[]> {
    return done(xs.map((x) => clone(x)));
  }

  allReduceCoalescedAsync(
    xs: readonly Tensor[],
    _op?: ReduceOp,
    options: CoalescedOptions = {},
  ): Pending<Tensor[]> {
    return done(xs.map((x) => (options.donate ? x : clone(x))));
  }

  allGatherCoalescedAsync(xs: readonly Tensor[]): Pending<Tensor[]> {
    return done(xs.map(joined));
  }

  reduceScatterCoalescedAsync(xs: readonly Tensor[]): Pending<Tensor[]> {
    return done(xs.map((x) => clone(x)));
  }

  barrier(): void {}

  broadcastObject<O>(object: O): O {
    return object;
  }

  allGatherObject<O>(object: O): O[] {
    return [object];
  }

  close(): void {}
}

function joined(x: Tensor): Tensor {
  return x.rank === 0 ? reshape(x, [1]) : clone(x);
}

function alone(): AccError {
  return new AccError('ACC_COLLECTIVE_RANK', 'There is no other rank.');
}
