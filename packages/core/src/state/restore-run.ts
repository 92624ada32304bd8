import type { Tensor } from '@tensorflow/tfjs-core';
import { readRest, readTensors, readTree, type Checkpoint, type StoredReference } from '@acc/checkpoint';
import { AccError, type Json, type RandomLayer, type StateTree } from '@acc/contract';
import { restoreRandomState } from '../random/math-random.js';
import { gatherWindows, windowState, type AccumulationEntry } from './accumulation-entries.js';
import { keyedPlugins, type LocalState, type ModelState, type SharedState } from './collect-run.js';
import { NamedTensors } from './named-tensors.js';
import { restoreOptimizer } from './optimizer-entries.js';
import { restoreParameters } from './parameters.js';
import type { Restoration } from './restoration.js';
import type { RunParts } from './run-parts.js';

/** A checkpoint of which everything that this rank needs was read and found to fit. */
export interface ReadRun {
  /** Puts it in place. */
  apply(): Promise<void>;
  /** Gives it up, or what is left of it. */
  dispose(): void;
}

/** What of a checkpoint does not become weights or an optimizer's state. */
interface Rest<T> {
  readonly local: Omit<LocalState<T>, 'model' | 'accumulation'>;
  readonly window: AccumulationEntry<T>;
  readonly strategy: unknown;
}

/**
 * Reads what this rank goes on from. On another number of ranks than it was saved on, what each rank had of its own goes to the
 * ranks that there are: gradients of a window are added up, and random numbers of ranks that are new stay their own.
 *
 * @throws AccError `ACC_CHECKPOINT_MISMATCH`, `ACC_CHECKPOINT_CORRUPT`.
 */
export async function readRun(checkpoint: Checkpoint, parts: RunParts): Promise<ReadRun> {
  const { index } = checkpoint;
  const { rank, size } = parts.collective;
  const layer = parts.kernels.state;
  const shared = (await readTree(checkpoint, index.shared)) as SharedState<StoredReference>;
  const wasHere = rank < index.worldSize;
  const ownPlace = rank % index.worldSize;
  const own = (await readTree(checkpoint, index.ranks[ownPlace]!)) as LocalState<StoredReference>;
  const { model: ownModel, accumulation: _, ...local } = own;
  requireSameObjects(local, parts);
  const model = shared.model ?? ownModel;
  const restorations = model ? restorationsOf(model, parts, shared.model ? '' : `rank-${ownPlace}/`) : [];
  const window = gatherWindows(await readWindows(checkpoint), { rank, size });
  const read = await readTensors(
    checkpoint,
    restorations.flatMap(({ wants }) => wants),
    layer,
  );
  const tensors = read.map((each) => each.toTensor());
  const rest = await readRest(checkpoint, { local, window, strategy: shared.strategy }, layer);
  const dispose = () => {
    for (const tensor of [...tensors, ...rest.tensors]) if (!tensor.isDisposed) tensor.dispose();
  };
  try {
    requireDtypes(restorations, tensors);
  } catch (error) {
    dispose();
    throw error;
  }
  return {
    dispose,
    async apply() {
      let next = 0;
      for (const { wants, apply } of restorations) {
        await apply(tensors.slice(next, next + wants.length));
        next += wants.length;
      }
      await applyRest(rest.tree as Rest<Tensor>, shared, { parts, wasHere });
    },
  };
}

/** The windows of accumulation of all ranks, in their order. */
async function readWindows(checkpoint: Checkpoint): Promise<AccumulationEntry<StoredReference>[]> {
  const entries = checkpoint.index.ranks.map(
    (json) => (json as { readonly accumulation: Json }).accumulation,
  );
  const read = await Promise.all(entries.map((json) => readTree(checkpoint, json)));
  return read as AccumulationEntry<StoredReference>[];
}

function restorationsOf(model: ModelState<StoredReference>, parts: RunParts, root: string): Restoration[] {
  parts.preparation.adoption.adoptNamed(model.parameters.map(({ name }) => name));
  const parameters = parts.pipeline.trained.prepared;
  const names = new NamedTensors(parts.strategy, parameters);
  const { optimizers } = parts.preparation;
  if (optimizers.length !== model.optimizers.length) {
    throw mismatch(
      `The checkpoint has ${model.optimizers.length} optimizers, ${optimizers.length} are prepared.`,
      'Prepare the same optimizers, in the same order, before loadState.',
    );
  }
  return [
    restoreParameters(parameters, model.parameters, names, root),
    ...optimizers.map((optimizer, i) =>
      restoreOptimizer(optimizer, model.optimizers[i]!, {
        parameters,
        names,
        folder: `${root}optimizers/${i}`,
      }),
    ),
  ];
}

/** Nothing was changed before this; from here on nothing can fail but what others' `setState` throws. */
async function applyRest(
  { local, window, strategy: agreed }: Rest<Tensor>,
  shared: SharedState<StoredReference>,
  { parts, wasHere }: { readonly parts: RunParts; readonly wasHere: boolean },
): Promise<void> {
  const { pipeline, strategy, kernels, data, fit, registered } = parts;
  pipeline.steps = shared.step;
  pipeline.accumulation.setState(windowState(window, pipeline.trained.prepared));
  data.goOnFrom(shared.data);
  fit.goOnFrom(shared.fit ?? undefined);
  const localOf = (state: unknown) => (wasHere ? (state as StateTree) : undefined);
  if (agreed !== null) {
    strategy.setState?.({ shared: agreed as StateTree, local: localOf(local.strategy) });
  }
  kernels.state.setState(shared.kernels as StateTree);
  for (const [key, plugin] of keyedPlugins(parts)) {
    if (key in local.plugins) await plugin.setState!(local.plugins[key] as never);
  }
  for (const [i, each] of registered.entries()) await each.setState(local.registered[i] as never);
  // Last: what the others do may draw.
  if (!wasHere) return;
  if (local.generator && kernels.random) restoreGenerator(local.generator, kernels.random);
  restoreRandomState(local.random);
}

/** Leaves a generator alone whose state is of another kind: of another device, or of a run that was deterministic or is. */
function restoreGenerator(state: Tensor, random: RandomLayer): void {
  const now = random.state();
  if (now.size === state.size) random.exchange(state).dispose();
  now.dispose();
}

function requireSameObjects(
  local: Pick<LocalState<unknown>, 'plugins' | 'registered'>,
  parts: RunParts,
): void {
  const here = parts.registered.length;
  if (local.registered.length !== here) {
    throw mismatch(
      `The checkpoint has the state of ${local.registered.length} registered objects, ${here} are registered.`,
      'Give registerForCheckpointing the same objects, in the same order, before loadState.',
    );
  }
  const keys = new Set(keyedPlugins(parts).map(([key]) => key));
  const missing = Object.keys(local.plugins).filter((key) => !keys.has(key));
  if (missing.length > 0 && parts.collective.rank === 0) {
    console.warn(`acc: the checkpoint has state of plugins that are not there: ${missing.join(', ')}.`);
  }
}

function requireDtypes(restorations: readonly Restoration[], tensors: readonly Tensor[]): void {
  let next = 0;
  for (const { wants, dtypes } of restorations) {
    wants.forEach(({ name }, i) => {
      const { dtype } = tensors[next++]!;
      if (!dtypes || dtypes[i] === dtype) return;
      throw mismatch(
        `'${name}' is ${dtype} in the checkpoint, ${dtypes[i]} here.`,
        'Load it into the model that it was saved from.',
      );
    });
  }
}

function mismatch(message: string, help: string): AccError {
  return new AccError('ACC_CHECKPOINT_MISMATCH', message, { help });
}
