import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import type { Collective } from '@acc/contract';
import type { RunParts } from './run-parts.js';
import { union, type NamedTensors } from './named-tensors.js';
import { mergedOptimizers, optimizerEntry, outlineOf, type OptimizerEntry } from './optimizer-entries.js';

/**
 * Which weights and optimizers a checkpoint has. The tensors of weights and slots lie beside it under their names. `T` is a
 * tensor, or what stands for one in a checkpoint.
 */
export interface ModelState<T> {
  /** Names of whole tensors, in the order in which they were prepared. */
  readonly parameters: readonly string[];
  readonly optimizers: readonly OptimizerEntry<T>[];
}

/** What the names of parameters begin with in a checkpoint. */
export const PARAMETERS = 'parameters';

/** What the names of state of one kind begin with, of an optimizer by its place. */
export const slotFolder = (root: string, optimizer: number, kind: string): string =>
  `${root}optimizers/${optimizer}/${kind}`;

/**
 * What this rank has; `names` takes the tensors.
 *
 * @param root What all names begin with.
 * @param made Takes tensors that were made for the entry, to be disposed after it was used.
 */
export async function modelState(
  { pipeline, preparation }: Pick<RunParts, 'pipeline' | 'preparation'>,
  names: NamedTensors,
  root: string,
  made: Tensor[],
): Promise<ModelState<Tensor>> {
  const parameters: readonly Variable[] = pipeline.trained.prepared;
  const wholes = parameters.flatMap((variable) => names.add(variable, variable, root + PARAMETERS));
  const optimizers = [];
  for (const [i, optimizer] of preparation.optimizers.entries()) {
    const folderOf = (kind: string) => slotFolder(root, i, kind);
    optimizers.push(await optimizerEntry(optimizer, { parameters, names, folderOf }, made));
  }
  return { parameters: wholes, optimizers };
}

/**
 * What all ranks have together, the same on each of them.
 *
 * @throws AccError `ACC_STATE_INVALID`, on all ranks, where their optimizers differ.
 */
export function modelOfAllRanks(own: ModelState<Tensor>, collective: Collective): ModelState<Tensor> {
  const all = collective.allGatherObject({
    parameters: own.parameters,
    optimizers: own.optimizers.map(outlineOf),
  });
  return {
    parameters: union(all.map(({ parameters }) => parameters)),
    optimizers: mergedOptimizers(
      own.optimizers,
      all.map(({ optimizers }) => optimizers),
    ),
  };
}
