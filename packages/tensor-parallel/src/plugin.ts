import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import { requireSameLoss, type Collective, type Plugin } from '@acc/contract';

/**
 * The part of tensor parallelism in passes.
 *
 * @param held The part of a gradient that this rank holds. See `Plugin.gradient`.
 */
export function tensorPlugin(held: (grad: Tensor, variable: Variable) => Tensor): Plugin {
  let ranks!: Collective;
  const plugin: Plugin = {
    name: 'tensorParallel',
    // Before gradients are added up over micro-batches, which works on what a rank holds.
    gradient: held,
    attach({ mesh }) {
      ranks = mesh.along('tensor');
    },
    // Labels and what is drawn in JavaScript meet no cut weight.
    loss(loss) {
      requireSameLoss({ call: 'tensor parallel', axis: 'tensor' }, loss.dataSync()[0]!, ranks);
      // Later passes need not read their losses.
      delete plugin.loss;
    },
  };
  return plugin;
}
