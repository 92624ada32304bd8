import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onFault } from '@acc/collective';
import {
  dropRescues,
  findRescue,
  RunSnapshot,
  isFirstRefusal,
  megabytes,
  receiveRescue,
  rescueMemory,
  writeRescue,
  type Checkpoint,
} from '@acc/checkpoint';
import { hostName } from '@acc/platform';
import { asDeferring, exitSurely, isHandled, listenFirst } from '@acc/platform/ending';
import { isAccError, withoutHelp } from '@acc/contract';
import type { RescuePlace } from '../launchers/rescue-place.js';
import type { Joinable } from '../join/joinable.js';
import { collectLocal } from './collect-run.js';
import { PARAMETERS } from './model-state.js';
import { NamedTensors } from './named-tensors.js';
import type { RestoredRun } from './run-checkpoints.js';
import type { RunContext } from './run-context.js';

export interface RescuingContext {
  readonly run: RunContext;
  readonly place: RescuePlace;
  readonly joinable: Pick<Joinable, 'isJoining'>;
  /** Whether a signal makes all ranks save together. */
  readonly isPreempting: boolean;
  /** The epoch in progress. */
  readonly epoch: () => number;
}

/** Errors of a kept state that does not fit or was damaged. The run then resumes from a checkpoint. */
const UNUSABLE = ['ACC_CHECKPOINT_MISMATCH', 'ACC_CHECKPOINT_CORRUPT', 'ACC_RESCUE_FAILED'];
/** Why a launcher ends ranks. It creates an empty file with the name. */
const ENDINGS = ['rescue', 'save', 'end'] as const;
/** The exit code of a process that SIGTERM has ended. */
const TERMINATED = 143;

/**
 * Keeps the run of this rank for the next start of the job. Between two batches it holds the state
 * without a copy. When a collective fails because another rank is lost, or the launcher ends the
 * ranks to start them again, it writes that state into the memory of the host.
 */
export class Rescuing {
  readonly #context: RescuingContext;
  readonly #forgetFaults: () => void;
  /** Tells the launcher that this process needs time to write. */
  readonly #sign: string;
  /** Whether an update may be made while the state before it is held. */
  readonly #holdsThroughUpdates: boolean;
  #held: RunSnapshot | undefined;
  #parameters: readonly string[] = [];
  /** Why nothing is held. */
  #reason = 'no prepared data and no checkPreemption() tells where a step ends';
  /** Why nothing can be held. */
  #refusal: string | undefined;
  #activity = 0;
  /** Whether an update was made and the state after it is not held yet. */
  #isSpent = false;
  /** Whether the process ends at the next boundary. */
  #mustLeave = false;
  #hasKept = false;
  #hasDropped = false;
  #hasCompared = false;

  readonly #onSignal = asDeferring(
    () => this.#endBySignal(),
    () => !this.#isKeeping,
  );

  #endBySignal(): void {
    if (this.#isKeeping) {
      // The update is made, and the next boundary holds the state after it.
      if (this.#isSpent) this.#mustLeave = true;
      else this.#leave();
      return;
    }
    if (isHandled('SIGTERM')) return;
    // The signal ends the process, as it would without this listener. While trackers finish first, this rank still
    // trains with the others.
    process.off('SIGTERM', this.#onSignal);
    rmSync(this.#sign, { force: true });
    process.kill(process.pid, 'SIGTERM');
  }

  constructor(context: RescuingContext) {
    const { run, place } = context;
    this.#context = context;
    this.#sign = join(place.folder, `holds-${process.pid}`);
    this.#holdsThroughUpdates = isReplicated(run) && run.kernels.device === 'cpu';
    this.#forgetFaults = onFault(() => this.#keep());
    listenFirst('SIGTERM', this.#onSignal);
    run.trainingStep.updates.observer = {
      beforeUpdate: () => this.#vote(),
      beforeApply: () => this.#spend(),
    };
  }

  /** Must be awaited at a point where all batches given out so far have been trained on. */
  async atBoundary(): Promise<void> {
    const { activity } = this.#context.run.trainingStep.updates;
    const isTraining = activity !== this.#activity;
    if (!isTraining || this.#context.joinable.isJoining) return;
    this.#drop();
    await this.hold();
    this.#compareMemory();
    if (this.#mustLeave) this.#leave();
  }

  #leave(): never {
    this.#keep();
    exitSurely(TERMINATED);
  }

  /** Holds the current state, which must be that between two steps. */
  async hold(): Promise<void> {
    const { run, epoch } = this.#context;
    const { trainingStep, collective, kernels } = run;
    if (this.#refusal !== undefined) return;
    this.#activity = trainingStep.updates.activity;
    if (trainingStep.sync.isTrainingAlone) return this.#release('each rank trains alone');
    // The state before the window stays valid, because weights change when it closes.
    const { done, held } = trainingStep.accumulation.getState();
    if (done > 0 || held.length > 0) {
      if (!this.#held) this.#reason = 'nothing is held of the time before the open window of accumulation';
      return;
    }
    try {
      const { made, ...local } = await collectLocal(run);
      const info = {
        step: local.shared.step,
        epoch: epoch(),
        savedAt: new Date().toISOString(),
        metrics: {},
      };
      const next = new RunSnapshot({ info, ...local }, collective.rank, kernels.state);
      for (const tensor of made) tensor.dispose();
      this.#held?.release();
      this.#held = next;
      this.#isSpent = false;
      this.#parameters = parametersOf(run);
      if (!existsSync(this.#sign)) writeFileSync(this.#sign, '');
    } catch (error) {
      if (isAccError(error, 'ACC_DEVICE_FAILED')) throw error;
      this.#refusal = (error as Error).message.split('\n')[0]!;
      this.#release(this.#refusal);
      console.warn(
        `acc: rank ${collective.rank} cannot keep its state for a restart of the job: ${this.#refusal}`,
      );
    }
  }

  /**
   * Resumes from what ranks kept, unless a checkpoint is newer. Every rank calls it.
   *
   * @param saved The step of the newest checkpoint. Undefined: there is none.
   * @param restore Restores the run from an opened checkpoint.
   */
  async resume(
    saved: number | undefined,
    restore: (open: () => Promise<Checkpoint>) => Promise<RestoredRun>,
  ): Promise<RestoredRun | undefined> {
    const { run, place } = this.#context;
    const { collective } = run;
    const host = { folder: place.folder, isSpeaker: place.isSpeaker };
    const { newest, problem } = findRescue(collective, host);
    const last = saved === undefined ? 'there is no checkpoint' : `the last checkpoint is of step ${saved}`;
    if (problem !== undefined) this.#say(`${problem}; ${last}`);
    if (!newest) {
      if (problem === undefined && place.round > 0) this.#say(`no rank has kept its state; ${last}`);
      return undefined;
    }
    if (saved !== undefined && saved > newest.step) return undefined;
    try {
      const checkpoint = await receiveRescue(newest, host, collective);
      const restored = await restore(() => Promise.resolve(checkpoint));
      const path = `the memory of ${newest.hosts.join(', ')}`;
      this.#say(`resumed at step ${restored.step} from ${path}; ${last}`);
      return { ...restored, path };
    } catch (error) {
      if (!isAccError(error) || !UNUSABLE.includes(error.code)) throw error;
      this.#say(
        `the state of step ${newest.step} in memory is not used: ${withoutHelp(error.message).replace(/\.$/, '')}; ${last}`,
      );
      return undefined;
    }
  }

  dispose(): void {
    this.#forgetFaults();
    process.off('SIGTERM', this.#onSignal);
    this.#context.run.trainingStep.updates.observer = undefined;
    this.#release('the Accelerator was freed');
    rmSync(this.#sign, { force: true });
  }

  /**
   * Shards of different steps do not fit together. So no rank updates its shards before all ranks
   * have their gradients. After the loss of a rank, the others are then at the same step, unless it
   * was lost within this barrier.
   */
  #vote(): void {
    const { run, joinable } = this.#context;
    if (!isReplicated(run) && !joinable.isJoining) run.collective.barrier();
  }

  /** An update follows, which would have to copy all that is held. */
  #spend(): void {
    if (this.#holdsThroughUpdates || !this.#held) return;
    this.#isSpent = true;
    this.#release('a rank was lost between an update of the weights and the next batch');
  }

  #release(reason: string): void {
    this.#held?.release();
    this.#held = undefined;
    this.#reason = reason;
  }

  /** Writes what is held, once. */
  #keep(): void {
    const { run, place } = this.#context;
    const { rank } = run.collective;
    if (this.#hasKept || this.#ending() === 'end' || run.trainingStep.updates.steps === 0) return;
    this.#hasKept = true;
    try {
      if (!this.#held) throw new Error(this.#reason);
      const keeper = { ...place, rank, isReplicated: isReplicated(run), parameters: this.#parameters };
      const { isAll, bytes } = writeRescue(this.#held, keeper);
      const { step } = this.#held.info;
      if (isAll)
        console.error(
          `acc: rank ${rank} keeps step ${step} in the memory of ${hostName()} (${megabytes(bytes)}).`,
        );
    } catch (error) {
      // All ranks of a host share its memory.
      if (isAccError(error, 'ACC_RESCUE_FAILED') && !isFirstRefusal(place.folder, place.round)) return;
      const reason = (error as Error).message.split('\n')[0];
      console.error(`acc: rank ${rank} does not keep its state for a restart: ${reason}`);
    }
  }

  /** Tells early, and once for each host, that its memory will not suffice. */
  #compareMemory(): void {
    const { run, place } = this.#context;
    if (this.#hasCompared || !this.#held || run.trainingStep.updates.steps === 0) return;
    this.#hasCompared = true;
    if (!place.isSpeaker) return;
    const { neededBytes, freeBytes } = rescueMemory(this.#held, {
      ...place,
      isReplicated: isReplicated(run),
    });
    if (neededBytes <= freeBytes) return;
    console.warn(
      `acc: ranks of ${hostName()} cannot keep their state for a restart, which needs ${megabytes(neededBytes)}: ${place.folder} has ${megabytes(freeBytes)} free. A restart goes on from the last checkpoint.`,
    );
  }

  /** Deletes what this round has resumed from: now every rank has a later state. */
  #drop(): void {
    const { folder, round, isSpeaker } = this.#context.place;
    if (this.#hasDropped || !isSpeaker) return;
    this.#hasDropped = true;
    dropRescues(folder, round);
  }

  /** Whether SIGTERM asks this component to keep the state. */
  get #isKeeping(): boolean {
    const ending = this.#ending();
    return ending === 'rescue' || (ending === 'save' && !this.#context.isPreempting);
  }

  /** Why the launcher ends the ranks. Undefined if it does not. */
  #ending(): (typeof ENDINGS)[number] | undefined {
    const { folder } = this.#context.place;
    return ENDINGS.find((ending) => existsSync(join(folder, `ending-${ending}`)));
  }

  #say(text: string): void {
    if (this.#context.run.collective.rank === 0) console.error(`acc: ${text}.`);
  }
}

/** The names of the whole tensors of all parameters, also of those of which this rank has nothing. */
function parametersOf({ strategy, trainingStep }: RunContext): string[] {
  const parameters = trainingStep.trained.prepared;
  const names = new NamedTensors(strategy, parameters);
  return parameters.flatMap((variable) => {
    const wholes = names.fullTensorsOf(variable).map(({ name }) => name);
    return (wholes.length > 0 ? wholes : [names.nameOf(variable)]).map((name) => `${PARAMETERS}/${name}`);
  });
}

const isReplicated = ({ strategy }: RunContext): boolean => strategy.traits.parameters === 'replicated';
