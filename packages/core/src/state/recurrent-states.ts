import type { Tensor } from '@tensorflow/tfjs-core';
import { storedTensor, type Checkpoint, type StoredReference } from '@acc/checkpoint';
import { AccError } from '@acc/contract';
import { nestedLayers, type RecurrentLayer } from '@acc/tfjs-internals';
import type { RunContext } from './run-context.js';

/** The states of each stateful recurrent layer, in the order of preparation. */
export type RecurrentStates<T> = readonly (readonly T[])[];

/** The states between two batches. They belong to the rows of this rank. */
export function recurrentStates(context: Pick<RunContext, 'preparation'>): RecurrentStates<Tensor> {
  return statefulLayers(context).map(({ states_ }) => states_!);
}

/**
 * @throws AccError `ACC_CHECKPOINT_MISMATCH` for states that the layers here cannot have. On another
 * number of ranks they are not used, so they may differ.
 */
export function requireSameStates(
  stored: RecurrentStates<StoredReference> | undefined,
  checkpoint: Checkpoint,
  context: RunContext,
): void {
  if (!stored || checkpoint.index.worldSize !== context.collective.size) return;
  const saved = stored.map((states) => states.map(({ name }) => storedTensor(checkpoint, name).shape));
  const here = recurrentStates(context).map((states) => states.map(({ shape }) => shape));
  const [was, is] = [JSON.stringify(saved), JSON.stringify(here)];
  if (was === is) return;
  throw new AccError(
    'ACC_CHECKPOINT_MISMATCH',
    `The states of stateful layers have the shapes ${was} in the checkpoint, but ${is} here.`,
    { help: 'Prepare the same models, with the same batch size, before loadState.' },
  );
}

/** @param wasHere Whether the job had the same number of ranks. */
export function restoreRecurrent(
  stored: RecurrentStates<Tensor> | undefined,
  context: Pick<RunContext, 'preparation' | 'collective'>,
  wasHere: boolean,
): void {
  if (!stored) return;
  const layers = statefulLayers(context);
  layers.forEach((layer, i) => layer.resetStates(wasHere ? [...stored[i]!] : undefined));
  if (wasHere || layers.length === 0 || context.collective.rank > 0) return;
  console.warn(
    'acc: stateful layers start from zeros, because the checkpoint was saved on another number of ranks: their states belong to the rows of each rank.',
  );
}

function statefulLayers({ preparation }: Pick<RunContext, 'preparation'>): RecurrentLayer[] {
  const layers = [...nestedLayers([...preparation.prepared.models])] as RecurrentLayer[];
  return layers.filter(({ stateful, states_ }) => stateful && states_?.every((state) => !state.isDisposed));
}
