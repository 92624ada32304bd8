import { clone, reshape, type Tensor } from '@tensorflow/tfjs-core';
import type { Collective, Pending, ReduceOp } from '@acc/contract';
import { done } from './pending.js';

/** The collectives of a group of one: what they give when nobody else is there. No network, nothing native. */
export class SingleCollective implements Collective {
  readonly rank = 0;
  readonly size = 1;
  readonly engine = 'single';

  broadcast(x: Tensor): Tensor {
    return clone(x);
  }

  broadcastAsync(x: Tensor): Pending<Tensor> {
    return done(clone(x));
  }

  allReduce(x: Tensor): Tensor {
    return clone(x);
  }

  allReduceAsync(x: Tensor, _op?: ReduceOp, options: { donate?: boolean } = {}): Pending<Tensor> {
    return done(options.donate ? x : clone(x));
  }

  allGather(x: Tensor): Tensor {
    return x.rank === 0 ? reshape(x, [1]) : clone(x);
  }

  allGatherAsync(x: Tensor): Pending<Tensor> {
    return done(this.allGather(x));
  }

  reduceScatter(x: Tensor): Tensor {
    return clone(x);
  }

  reduceScatterAsync(x: Tensor): Pending<Tensor> {
    return done(clone(x));
  }

  barrier(): void {}

  broadcastObject<T>(object: T): T {
    return object;
  }

  allGatherObject<T>(object: T): T[] {
    return [object];
  }

  close(): void {}
}
