import { cast, mul, tidy, type Tensor } from '@tensorflow/tfjs-core';
import type { Collective, KernelLayer, Mesh, ReduceOp } from '@acc/contract';
import type { Nested } from '@acc/tape';
import type { Lifetime } from '../lifetime.js';
import { requireNumber, type NumberRule } from '../require-arguments.js';
import type { BatchRows } from '../step/batch-rows.js';
import { AcrossRanks } from './across-ranks.js';
import type { Gathered } from './gather-real.js';
import { padAcross, requirePadOptions, type PadOptions } from './pad-across.js';

/** Counts of true, as tf.sum, tf.prod and tf.mean of a tensor take them. */
const BOOL_AS: Partial<Record<ReduceOp, 'int32' | 'float32'>> = {
  sum: 'int32',
  product: 'int32',
  mean: 'float32',
};

const SCALE: NumberRule = {
  expected: 'a number',
  help: 'Give the factor of the result, or leave it out for 1.',
  isRight: (scale) => !Number.isNaN(scale),
};

function asNumbers(x: Tensor, op: ReduceOp): Tensor {
  const dtype = BOOL_AS[op];
  return x.dtype === 'bool' && dtype ? cast(x, dtype) : x;
}

export interface JobCollectivesContext {
  readonly collective: Collective;
  readonly kernels: KernelLayer;
  readonly mesh: Mesh;
  readonly lifetime: Lifetime;
  readonly trainingStep: { readonly batch: BatchRows | undefined };
  readonly preparation: { readonly unprepared: { sent(x: Tensor): void } | undefined };
}

/** The collectives that a program calls. `Accelerator` documents each member. */
export class JobCollectives {
  readonly #context: JobCollectivesContext;
  readonly #across: AcrossRanks;

  constructor(context: JobCollectivesContext) {
    this.#context = context;
    this.#across = new AcrossRanks(context.kernels);
  }

  gather<T extends Nested>(values: T): T {
    return this.#map('gather', values, (x, collective) => collective.allGather(x));
  }

  gatherForMetrics<T>(values: T): Gathered<T> {
    this.#collectiveFor('gatherForMetrics');
    const { mesh, trainingStep } = this.#context;
    return this.#across.gatherForMetrics(values, mesh, trainingStep.batch);
  }

  gatherObject<T>(values: readonly T[]): T[] {
    return this.#collectiveFor('gatherObject').allGatherObject(values).flat();
  }

  reduce<T extends Nested>(values: T, op: ReduceOp, scale: number): T {
    requireNumber('reduce', 'scale', scale, SCALE);
    return this.#map('reduce', values, (x, collective) =>
      tidy(() => {
        const reduced = collective.allReduce(asNumbers(x, op), op);
        return scale === 1 ? reduced : mul(reduced, scale);
      }),
    );
  }

  broadcast<T extends Nested>(values: T, fromProcess: number): T {
    return this.#map('broadcast', values, (x, collective) => collective.broadcast(x, fromProcess));
  }

  padAcross<T extends Nested>(values: T, options: PadOptions): T {
    requirePadOptions(options);
    return this.#map('padAcrossProcesses', values, (x, collective) => padAcross(x, options, collective));
  }

  broadcastObject<T>(object: T, fromProcess: number): T {
    return this.#collectiveFor('broadcastObject').broadcastObject(object, fromProcess);
  }

  waitForEveryone(): void {
    this.#collectiveFor('waitForEveryone').barrier();
  }

  #map<T extends Nested>(method: string, values: T, call: (x: Tensor, collective: Collective) => Tensor): T {
    const collective = this.#collectiveFor(method);
    return this.#across.map(method, values, collective, (x) => {
      this.#context.preparation.unprepared?.sent(x);
      return call(x, collective);
    });
  }

  /** @throws AccError `ACC_TRAINING_ENDED` after training has ended. */
  #collectiveFor(method: string): Collective {
    this.#context.lifetime.requireJob(method);
    return this.#context.collective;
  }
}
