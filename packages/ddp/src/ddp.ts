import { util, type Variable } from '@tensorflow/tfjs-core';
import type { GradientReduction, Strategy, StrategyContext } from '@acc/contract';
import { broadcastVariables } from './broadcast.js';
import { planBuckets, type BucketPlan } from './bucket-plan.js';
import { requireSameVariables } from './manifest.js';
import { resolveDdpOptions, type DdpOptions } from './options.js';
import { BucketedReduction } from './reduction.js';

const FIRST_BUCKET_BYTES = 1024 * 1024;

/**
 * Data parallelism: every rank holds all parameters, takes its own part of the data, and gradients are summed over ranks in
 * buckets that travel while backward goes on (Li et al., "PyTorch Distributed", VLDB 2020).
 */
export function ddp(options?: DdpOptions): Strategy {
  const { bucketBytes } = resolveDdpOptions(options);
  const plans = new Map<string, BucketPlan>();
  let context: StrategyContext;

  /** Loops ask for the same few lists of variables again and again; ranks are compared when a list is new. */
  function planOf(variables: readonly Variable[]): BucketPlan {
    const key = variables.map(({ id }) => id).join();
    let plan = plans.get(key);
    if (!plan) {
      requireSameVariables(variables, context.collective);
      const bytes = variables.map(({ size, dtype }) => size * util.bytesPerElement(dtype));
      plan = planBuckets(bytes, bucketBytes, FIRST_BUCKET_BYTES);
      plans.set(key, plan);
    }
    return plan;
  }

  return {
    name: 'ddp',
    traits: { parameters: 'replicated' },
    attach(given) {
      context = given;
    },
    prepareVariables(variables) {
      requireSameVariables(variables, context.collective);
      broadcastVariables(variables, context.collective);
    },
    beginReduction(variables): GradientReduction {
      return new BucketedReduction(variables, planOf(variables), context.collective);
    },
  };
}
