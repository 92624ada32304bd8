import { storedBuffers } from '#platform/several-ranks';
import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import {
  describeLocation,
  readRest,
  readTensors,
  readTree,
  storedTensor,
  together,
  type Checkpoint,
  type StoredReference,
} from '@acc/checkpoint';
import {
  AccError,
  isAccError,
  withoutHelp,
  type Json,
  type RandomLayer,
  type StateTree,
} from '@acc/contract';
import { restoreOrderState } from '../random/data-orders.js';
import { restoreRandomState } from '../random/math-random.js';
import { shareRandomStates } from '../random/synchronize.js';
import { accumulatesReduced } from '../step/pass.js';
import {
  gatherWindows,
  shardedSums,
  namesOfParameters,
  windowState,
  withNames,
  type AccumulationEntry,
  type ShardedSum,
} from './accumulation-entries.js';
import { keyedPlugins, type LocalState, type SharedState } from './collect-run.js';
import { matchNames, type LocalNames } from './match-names.js';
import { PARAMETERS } from './model-state.js';
import { NamedTensors } from './named-tensors.js';
import { requireSameStates, restoreRecurrent } from './recurrent-states.js';
import { restoreModel } from './restore-model.js';
import type { Restoration } from './restoration.js';
import type { RunContext } from './run-context.js';
import { localStateOf, sharedStateOf, windowOf } from './state-shape.js';
import { storedModel, type StoredModel } from './stored-model.js';

/** A checkpoint whose contents for this rank have been read and checked. */
export interface ReadRun {
  readonly checkpoint: Checkpoint;
  /** Restores the run from it. */
  apply(): Promise<void>;
  /** Disposes the tensors that were read and not taken over. */
  dispose(): void;
}

/** The state in a checkpoint other than weights and optimizer state. */
interface Rest<T> {
  readonly local: Omit<LocalState<T>, 'model' | 'accumulation' | 'buffers'>;
  readonly window: AccumulationEntry<T>;
  readonly strategy: unknown;
}

/** The trees of a checkpoint from which this rank resumes. */
interface Trees {
  readonly checkpoint: Checkpoint;
  readonly shared: SharedState<StoredReference>;
  readonly local: LocalState<StoredReference>;
  /** Undefined if the run had no model. */
  readonly stored: StoredModel | undefined;
  /** The prefix of the names of the model's tensors. */
  readonly root: string;
  readonly windows: readonly AccumulationEntry<StoredReference>[];
}

/** The names of this rank's tensors, and the names of the same tensors in the checkpoint. */
interface Matched {
  readonly names: NamedTensors;
  readonly parameters: readonly Variable[];
  readonly storedName: (name: string) => string;
  readonly window: AccumulationEntry<StoredReference>;
}

/**
 * Reads the state from which this rank resumes. Every rank calls it. Weights, optimizer state and
 * sharded sums are found by name, whichever ranks held them. State of single ranks is distributed
 * over the current ranks: they divide the accumulation windows among them, and a rank that is new
 * keeps its own random state.
 *
 * @throws AccError `ACC_CHECKPOINT_MISMATCH`, `ACC_CHECKPOINT_CORRUPT`, on all ranks.
 */
export async function readRun(open: () => Promise<Checkpoint>, context: RunContext): Promise<ReadRun> {
  const { collective } = context;
  const trees = await together(
    collective,
    async () => {
      const checkpoint = await open();
      return await named(checkpoint, () => readTrees(checkpoint, context));
    },
    undefined,
    'loadState()',
  );
  const { stored } = trees;
  if (stored) context.preparation.adoption.adoptNamed(stored.model.parameters);
  const parameters = context.trainingStep.trained.prepared;
  const names = new NamedTensors(context.strategy, parameters);
  const ranks = collective.allGatherObject({
    rank: collective.rank,
    wholes: parameters.flatMap((variable) => names.fullTensorsOf(variable)),
    variables: namesOfParameters(parameters, names),
  });
  return await together(
    collective,
    () =>
      named(
        trees.checkpoint,
        async () =>
          await readMatched(trees, { names, parameters, ...matchRanks(trees, ranks, context) }, context),
      ),
    (read) => read.dispose(),
  );
}

/** Errors of what differs name the checkpoint. */
async function named<T>({ location }: Checkpoint, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const where = describeLocation(location);
    if (!isAccError(error) || error.message.includes(where)) throw error;
    const { code, help, details, cause } = error;
    const message = `${where}: ${withoutHelp(error.message)}`;
    throw new AccError(code, message, { ...(help !== undefined && { help }), details, cause });
  }
}

async function readTrees(checkpoint: Checkpoint, context: RunContext): Promise<Trees> {
  const { index } = checkpoint;
  const shared = sharedStateOf(await readTree(checkpoint, index.shared), checkpoint);
  const ownPlace = context.collective.rank % index.worldSize;
  const local = localStateOf(await readTree(checkpoint, index.ranks[ownPlace]!), ownPlace, checkpoint);
  requireSameObjects(local, context);
  requireSameStates(local.recurrent, checkpoint, context);
  const root = shared.model ? '' : `rank-${ownPlace}/`;
  const model = shared.model ?? local.model;
  const stored = model ? storedModel(model, checkpoint, root) : undefined;
  const windows = await readWindows(checkpoint);
  return {
    checkpoint,
    shared,
    local,
    stored,
    root,
    windows: windows.map((window) => withNames(window, stored?.variables)),
  };
}

/** The accumulation windows of all ranks, in rank order. */
async function readWindows(checkpoint: Checkpoint): Promise<AccumulationEntry<StoredReference>[]> {
  return await Promise.all(
    checkpoint.index.ranks.map(async (json, rank) => {
      const entry = (json as { readonly accumulation?: Json } | null)?.accumulation;
      return windowOf(await readTree(checkpoint, entry ?? null), rank, checkpoint);
    }),
  );
}

/** The names of the tensors that a rank holds. */
interface RankNames extends LocalNames {
  /** The names of its variables, sorted. */
  readonly variables: readonly string[];
}

/**
 * Matches the contents of the checkpoint with the tensors of all ranks.
 *
 * @throws AccError `ACC_CHECKPOINT_MISMATCH`.
 */
function matchRanks(
  { checkpoint, shared, stored, root, windows }: Trees,
  ranks: readonly RankNames[],
  { collective: { rank }, strategy, alike }: RunContext,
): Pick<Matched, 'storedName' | 'window'> {
  const shapeOf = (name: string) => storedTensor(checkpoint, `${root}${PARAMETERS}/${name}`).shape;
  const storedName = stored
    ? matchNames(
        stored.model.parameters.map((name) => ({ name, shape: shapeOf(name) })),
        // If each rank trained alone, each has a whole model.
        shared.model ? ranks : ranks.filter((each) => each.rank === rank),
      )
    : (name: string) => name;
  const parameters = ranks.map(({ variables }) => variables.map(storedName).sort());
  const isReduced = accumulatesReduced(strategy);
  return {
    storedName,
    window: gatherWindows(windows, { rank, parameters, isReduced, alike: alike?.size ?? 1 }),
  };
}

async function readMatched(trees: Trees, matched: Matched, context: RunContext): Promise<ReadRun> {
  const { checkpoint, shared, local, stored, root } = trees;
  const { names, parameters, window, storedName } = matched;
  const byName = new Map(parameters.map((variable) => [storedName(names.nameOf(variable)), variable]));
  const variableOf = (name: string) => byName.get(name)!;
  const layer = context.kernels.state;
  const { optimizers } = context.preparation.prepared;
  const { model: _, accumulation: __, buffers: ofRank, ...ownState } = local;
  const buffers = storedBuffers(ofRank, checkpoint.index.worldSize, context.collective);
  const restorations = stored ? restoreModel(stored.model, { ...matched, optimizers, root, buffers }) : [];
  const held = shardedSums(window, variableOf, { names, storedName, checkpoint });
  const wants = [...restorations.flatMap((each) => each.wants), ...held.map(({ want }) => want)];
  const tensors = (await readTensors(checkpoint, wants, layer)).map((each) => each.toTensor());
  const rest = await readRest(checkpoint, { local: ownState, window, strategy: shared.strategy }, layer);
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
    checkpoint,
    dispose,
    async apply() {
      let next = 0;
      for (const restoration of restorations) {
        const count = restoration.wants.length;
        await restoration.apply(tensors.slice(next, next + count));
        next += count;
      }
      const sumOf = sumsOf(held, tensors.slice(next));
      const tree = rest.tree as Rest<Tensor>;
      context.trainingStep.updates.steps = shared.step;
      context.trainingStep.accumulation.setState(windowState(tree.window, variableOf, sumOf));
      const { worldSize } = checkpoint.index;
      await named(checkpoint, () => applyRest(tree, shared, { context, worldSize }));
    },
  };
}

function sumsOf(held: readonly ShardedSum[], tensors: readonly Tensor[]) {
  return (entry: number, place: number): Tensor =>
    tensors[held.findIndex((each) => each.entry === entry && each.place === place)]!;
}

/**
 * From here on only the states of a strategy, backend, plugin or registered object can fail.
 */
async function applyRest(
  { local, strategy: agreed }: Rest<Tensor>,
  shared: SharedState<StoredReference>,
  { context, worldSize }: { readonly context: RunContext; readonly worldSize: number },
): Promise<void> {
  const { strategy, kernels, data, fit, registered, collective } = context;
  const wasHere = collective.rank < worldSize;
  data.goOnFrom(shared.data);
  fit.goOnFrom(shared.fit ?? undefined);
  fit.callbacks.goOnFrom(local.callbacks);
  restoreRecurrent(local.recurrent, context, worldSize === collective.size);
  const localOf = (state: unknown) => (wasHere ? (state as StateTree) : undefined);
  if (agreed !== null) {
    strategy.state?.set({ shared: agreed as StateTree, local: localOf(local.strategy) });
  }
  kernels.state.setState(shared.kernels as StateTree);
  for (const [key, plugin] of keyedPlugins(context)) {
    if (key in local.plugins) await plugin.setState!(local.plugins[key] as never);
  }
  for (const [i, each] of registered.entries()) await each.setState(local.registered[i] as never);
  // Restored last, because the calls above may draw random numbers.
  if (shared.orders) restoreOrderState(shared.orders);
  if (wasHere) {
    if (local.generator && kernels.random) restoreGenerator(local.generator, kernels.random);
    restoreRandomState(local.random);
  }
  // On another mesh these ranks had other states, or none.
  if (context.alike) shareRandomStates(context.alike, kernels);
}

/**
 * Restores the backend's random generator. A state of another size is ignored: it comes from
 * another kind of generator, because the device differs or only one of the runs is deterministic.
 */
function restoreGenerator(state: Tensor, random: RandomLayer): void {
  const now = random.state();
  if (now.size === state.size) random.exchange(state).dispose();
  now.dispose();
}

function requireSameObjects(
  local: Pick<LocalState<unknown>, 'plugins' | 'registered'>,
  context: RunContext,
): void {
  const here = context.registered.length;
  if (local.registered.length !== here) {
    throw mismatch(
      `The checkpoint has the state of ${local.registered.length} registered objects, but ${here} are registered.`,
      'Give registerForCheckpointing the same objects, in the same order, before loadState.',
    );
  }
  const keys = new Set(keyedPlugins(context).map(([key]) => key));
  const missing = Object.entries(local.plugins)
    .filter(([key, state]) => !keys.has(key) && holdsSomething(state))
    .map(([key]) => key);
  if (missing.length > 0 && context.collective.rank === 0) {
    console.warn(
      `acc: the checkpoint has the state of plugins that this run does not have: ${missing.join(', ')}. Their state is ignored.`,
    );
  }
}

/** Whether a state has any value: mixed precision in bfloat16, for example, has no loss scale. */
function holdsSomething(state: unknown): boolean {
  if (typeof state !== 'object' || state === null) return state !== null && state !== undefined;
  return Object.values(state).some(holdsSomething);
}

function requireDtypes(restorations: readonly Restoration[], tensors: readonly Tensor[]): void {
  let next = 0;
  for (const { wants, dtypes } of restorations) {
    wants.forEach(({ name }, i) => {
      const { dtype } = tensors[next++]!;
      if (!dtypes || dtypes[i] === dtype) return;
      throw mismatch(
        `'${name}' is ${dtype} in the checkpoint, but ${dtypes[i]} here.`,
        'Load it into the model that it was saved from.',
      );
    });
  }
}

function mismatch(message: string, help: string): AccError {
  return new AccError('ACC_CHECKPOINT_MISMATCH', message, { help });
}
