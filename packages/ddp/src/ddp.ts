import type { Variable } from '@tensorflow/tfjs-core';
import {
  requireSameOptions,
  type GradientReduction,
  type Strategy,
  type StrategyContext,
} from '@acc/contract';
import { isLive } from '@acc/kernels';
import { SharedBuffers } from './batch-norm/shared-buffers.js';
import { syncBatchNorm } from './batch-norm/sync-batch-norm.js';
import { broadcastVariables } from './broadcast.js';
import { isCast } from './comm-hooks/cast.js';
import { stateOf } from './comm-hooks/hook-state.js';
import { commHookOf } from './comm-hooks/named.js';
import { settling } from './comm-hooks/settling.js';
import { requireSameVariables } from './same-variables.js';
import { comparedOptions, resolveDdpOptions, type DdpOptions } from './options.js';
import { Plans } from './plans.js';
import { BucketedReduction } from './reduction.js';

/**
 * Data parallelism: every rank holds all parameters and processes its own share of the data.
 * Gradients are summed over ranks in buckets, which are sent while backward continues (Li et al.,
 * "PyTorch Distributed", VLDB 2020).
 */
export function ddp(options?: DdpOptions): Strategy {
  const resolved = resolveDdpOptions(options);
  const { bucketBytes, commHook, findUnused, batchNorm, syncAt, syncEachBatch } = resolved;
  const hook = commHook === undefined ? undefined : commHookOf(commHook);
  const plans = new Plans(bucketBytes);
  const prepared = new Set<Variable>();
  const buffers = new SharedBuffers();
  let context: StrategyContext;
  const state = stateOf(hook, () => context.collective);

  return {
    name: 'ddp',
    traits: {
      parameters: 'replicated',
      syncAt,
      ...(syncEachBatch && { accumulates: 'afterReduction' as const }),
      mixesRanks: batchNorm === 'sync',
      mixesGradients: hook !== undefined && !isCast(hook),
    },
    attach(given) {
      context = given;
      requireSameOptions('ddp', comparedOptions(resolved), context.collective);
    },
    prepareVariables(variables) {
      requireSameVariables(variables, context.collective);
      broadcastVariables(variables, context.collective);
      for (const variable of prepared) if (!isLive(variable)) prepared.delete(variable);
      for (const variable of variables) {
        prepared.add(variable);
        // Registers the name, so that mismatch errors can show it even if only another rank has
        // reached the gradient of this variable.
        context.mesh.gradientRanks.named(variable.name, () => {});
      }
    },
    prepareLayers(layers) {
      if (batchNorm === 'sync') return syncBatchNorm(layers, context);
      return batchNorm === 'broadcast' ? buffers.add(layers) : () => {};
    },
    beginReduction(variables): GradientReduction {
      const collective = context.mesh.gradientRanks;
      // Layers call collectives between the steps of backward. If a rank does not use all its
      // variables, its buckets could fill at a different time, and ranks would make calls in
      // different orders.
      const overlaps = batchNorm !== 'sync' || !findUnused;
      const ofPass = hook && settling(hook);
      const transport = { collective, hook: ofPass, findUnused, overlaps, buffers };
      return new BucketedReduction(variables, plans.of(variables, collective), transport);
    },
    synchronize(fromRank) {
      const { collective } = context;
      const variables = [...prepared].filter(isLive);
      broadcastVariables(variables, collective, fromRank);
      plans.share(variables, collective, fromRank);
      if (hook?.getState && hook.setState) {
        const { shared, local } = hook.getState();
        hook.setState({ shared: collective.broadcastObject(shared, fromRank), local });
      }
    },
    ...(state && { state }),
    detach() {
      hook?.dispose?.();
      prepared.clear();
    },
  };
}
