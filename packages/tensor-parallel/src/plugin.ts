import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import { AccError, type Collective, type Plugin } from '@acc/contract';

/** Ranks may compute with kernels that round in different ways. */
const RELATIVE_TOLERANCE = 1e-3;

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
      // Only of the first pass: later ones need not read their losses.
      delete plugin.loss;
      requireSameLoss(loss.dataSync()[0]!, ranks);
    },
  };
  return plugin;
}

/** @throws AccError `ACC_BATCHES_DIFFER`, on every rank, with each rank's loss. */
function requireSameLoss(own: number, ranks: Collective): void {
  // JSON has no numbers that are not finite.
  const losses = ranks.allGatherObject(String(own)).map(Number);
  const [first] = losses as [number];
  const isNear = (loss: number) =>
    Object.is(loss, first) || Math.abs(loss - first) <= RELATIVE_TOLERANCE * Math.max(Math.abs(first), 1e-6);
  if (losses.every(isNear)) return;
  const lines = losses.map((loss, i) => `    rank ${ranks.worldRanks[i]}: ${loss}`);
  throw new AccError(
    'ACC_BATCHES_DIFFER',
    `tensor parallel: ranks of one line of the mesh axis tensor have different losses in the first step:\n${lines.join('\n')}`,
    {
      help: 'These ranks compute one loss together. Give all ranks of the axis tensor the same batch and labels, and let them draw the same numbers (setSeed).',
      details: { axis: 'tensor', what: 'losses' },
    },
  );
}
