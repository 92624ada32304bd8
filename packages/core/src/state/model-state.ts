import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import type { Collective } from '@acc/contract';
import type { RunContext } from './run-context.js';
import { union, type NamedTensors } from './named-tensors.js';
import { mergedOptimizers, optimizerEntry, outlineOf, type OptimizerEntry } from './optimizer-entries.js';

/**
 * The weights and optimizers of a checkpoint. Tensors of weights and slots are stored separately
 * under their names. `T` is a tensor, or a reference to one in a checkpoint.
 */
export interface ModelState<T> {
  /** Names of whole tensors, in the order of preparation. */
  readonly parameters: readonly string[];
  readonly optimizers: readonly OptimizerEntry<T>[];
}

/** The prefix of the names of parameters in a checkpoint. */
export const PARAMETERS = 'parameters';

/** The prefix of the names of one kind of state, for the optimizer at a position. */
export const slotFolder = (root: string, optimizer: number, kind: string): string =>
  `${root}optimizers/${optimizer}/${kind}`;

/**
 * The model state of this rank. Its tensors are added to `names`.
 *
 * @param root The prefix of all names.
 * @param made Receives tensors that were made for the entry. They are to be disposed after its use.
 */
export async function modelState(
  { trainingStep, preparation }: Pick<RunContext, 'trainingStep' | 'preparation'>,
  names: NamedTensors,
  root: string,
  created: Tensor[],
): Promise<ModelState<Tensor>> {
  const parameters: readonly Variable[] = trainingStep.trained.prepared;
  const wholes = parameters.flatMap((variable) =>
    names.add(names.localOf(variable), variable, root + PARAMETERS),
  );
  const optimizers = [];
  for (const [i, optimizer] of preparation.prepared.optimizers.entries()) {
    const folderOf = (kind: string) => slotFolder(root, i, kind);
    optimizers.push(await optimizerEntry(optimizer, { parameters, names, folderOf }, created));
  }
  return { parameters: wholes, optimizers };
}

/**
 * The model state of all ranks together. It is the same on each rank.
 *
 * @throws AccError `ACC_STATE_INVALID`, on all ranks, if their optimizers differ.
 */
export function modelOfAllRanks(local: ModelState<Tensor>, collective: Collective): ModelState<Tensor> {
  const all = collective.allGatherObject({
    parameters: local.parameters,
    optimizers: local.optimizers.map(outlineOf),
  });
  return {
    parameters: union(all.map(({ parameters }) => parameters)),
    optimizers: mergedOptimizers(
      local.optimizers,
      all.map(({ optimizers }) => optimizers),
    ),
  };
}
