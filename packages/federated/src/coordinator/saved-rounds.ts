import { backend, getBackend } from '@tensorflow/tfjs-core';
import {
  Checkpoints,
  readTensors,
  readTree,
  resolveCheckpointOptions,
  type Checkpoint,
  type CheckpointOptions,
} from '@acc/checkpoint';
import { SingleCollective } from '@acc/collective';
import { AccError, checkKeys, isAccError, isRecord, withoutHelp, type StateLayer } from '@acc/contract';
import { kernelLayerOf } from '@acc/kernels';
import type { TrackersState } from '@acc/tracker';
import { eachWeight, type WeightLayout } from '../protocol/layout.js';
import type { WeightSource } from '../weights/weight-source.js';

/** The state from which a run continues. */
export interface SavedRun {
  /** The number of rounds that are done. */
  readonly round: number;
  readonly weights: Float32Array;
  /** The names of the clients that were connected. */
  readonly clients: readonly string[];
  readonly trackers: TrackersState | undefined;
  /** The checkpoint, for messages. */
  readonly place: string;
}

/**
 * The options of checkpoints that a coordinator accepts. The others are for saving in the background
 * and for several ranks. A coordinator waits for each checkpoint, and is one process.
 */
const KEYS = ['dir', 'storage', 'keepLast', 'keepBest', 'keepEvery'];

/** The weights have the names that those of other checkpoints have: `loadModel` reads them. */
const nameOf = (weight: string) => `parameters/${weight}`;

/** The state that is saved after a round besides the weights. */
export interface RunState {
  /** The names of the clients that are connected. */
  readonly clients: readonly string[];
  readonly trackers: TrackersState;
  /** The metrics of the round, by which `keepBest` chooses. */
  readonly metrics: Readonly<Record<string, number>>;
}

/** The checkpoints of a coordinator, one for each round. */
export class SavedRounds {
  readonly #checkpoints: Checkpoints;
  readonly #layout: WeightLayout;
  readonly #layer: StateLayer;

  /** @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
  constructor(options: CheckpointOptions, layout: WeightLayout) {
    checkKeys('startCoordinator.checkpoint', options, KEYS);
    this.#layout = layout;
    this.#layer = kernelLayerOf(getBackend(), backend()).state;
    const resolved = resolveCheckpointOptions(options);
    this.#checkpoints = new Checkpoints({
      options: resolved,
      layer: this.#layer,
      collective: new SingleCollective(),
    });
  }

  /**
   * Saves the weights in the model.
   *
   * @param round The number of rounds that are done.
   * @throws AccError `ACC_CHECKPOINT_SAVE_FAILED`.
   */
  async save(round: number, source: WeightSource, { clients, trackers, metrics }: RunState): Promise<void> {
    const tensors = source.tensors().map((tensor, i) => ({ name: nameOf(source.infos[i]!.name), tensor }));
    const info = { step: round, epoch: 0, savedAt: new Date().toISOString(), metrics };
    const shared = { federated: { round, clients }, trackers };
    await this.#checkpoints.save(undefined, { info, shared, local: null, tensors }, false);
  }

  /**
   * The newest complete checkpoint. Undefined if there is none.
   *
   * @throws AccError `ACC_CHECKPOINT_MISMATCH` if it is not of this model or not of a coordinator;
   * `ACC_CHECKPOINT_CORRUPT` if no checkpoint can be read.
   */
  async newest(): Promise<SavedRun | undefined> {
    const tried = new Set<string>();
    let damaged: AccError | undefined;
    for (;;) {
      const name = await this.#checkpoints.newest(tried);
      if (name === undefined) {
        if (damaged) throw damaged;
        return undefined;
      }
      tried.add(name);
      try {
        const run = await this.#read(await this.#checkpoints.openNamed(name), name);
        this.#checkpoints.use(name);
        return run;
      } catch (error) {
        if (!isAccError(error, 'ACC_CHECKPOINT_CORRUPT')) throw error;
        damaged ??= error;
        console.warn(`acc: ${error.code}: ${withoutHelp(error.message)} This checkpoint is skipped.`);
      }
    }
  }

  async #read(checkpoint: Checkpoint, name: string): Promise<SavedRun> {
    const place = `${this.#checkpoints.place}/${name}`;
    const shared = await readTree(checkpoint, checkpoint.index.shared);
    const { federated, trackers }: Record<string, unknown> = isRecord(shared) ? shared : {};
    const round = isRecord(federated) ? federated['round'] : undefined;
    if (typeof round !== 'number') throw notOfCoordinator(place);
    const weights = await this.#readWeights(checkpoint);
    const { clients } = federated as { readonly clients?: readonly string[] };
    return { round, weights, clients: clients ?? [], trackers: trackers as TrackersState | undefined, place };
  }

  async #readWeights(checkpoint: Checkpoint): Promise<Float32Array> {
    const layout = this.#layout;
    const wants = layout.weights.map(({ name, shape }) => ({
      name: nameOf(name),
      held: { shape: [...shape] },
    }));
    const filled = await readTensors(checkpoint, wants, this.#layer);
    const tensors = filled.map((each) => each.toTensor());
    const values = await Promise.all(tensors.map((tensor) => tensor.data<'float32'>()));
    for (const tensor of tensors) tensor.dispose();
    const flat = new Float32Array(layout.total);
    eachWeight(layout, (index, start) => flat.set(values[index]!, start));
    return flat;
  }
}

function notOfCoordinator(place: string): AccError {
  return new AccError('ACC_CHECKPOINT_MISMATCH', `${place} is not a checkpoint of a coordinator.`, {
    help: 'Give the coordinator a checkpoint folder of its own.',
    details: { place },
  });
}
