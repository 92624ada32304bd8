import { Checkpoints, describeLocation, resolveCheckpointOptions, type Checkpoint } from '@acc/checkpoint';
import { AccError, checkKeys, isAccError, noteWait, withoutHelp, type Stateful } from '@acc/contract';
import { join } from '@acc/platform';
import { Rescuing } from '#platform/rescuing';
import type { LaunchEnvironment } from '../environment.js';
import type { Joinable } from '../join/joinable.js';
import type { ResolvedOptions } from '../options.js';
import { isPreempting } from './is-preempting.js';
import { collectRun } from './collect-run.js';
import { readRun } from './restore-run.js';
import type { RunContext } from './run-context.js';
import { StateHooks } from './state-hooks.js';

export interface SaveStateOptions {
  /** Replaces the option `checkpoint.async` for this save. */
  readonly async?: boolean;
  /** The current metrics, for `checkpoint.keepBest`. The same on every rank. */
  readonly metrics?: Readonly<Record<string, number>>;
}

export interface LoadStateOptions {
  /**
   * Whether `loadState('latest')` returns undefined if there is no checkpoint. Default false: it
   * throws.
   */
  readonly ifPresent?: boolean;
}

/** The point from which a run resumes. */
export interface RestoredRun {
  /** The location of the checkpoint, for messages. */
  readonly path: string;
  /** The number of optimizer steps taken. */
  readonly step: number;
  /** The epoch in progress, or the next one, from 0. */
  readonly epoch: number;
}

/** Restores the run from a checkpoint that was found. Hooks of the program run before. */
type Restore = (open: () => Promise<Checkpoint>) => Promise<RestoredRun>;

/** Error codes of checkpoints that were damaged after they were written. `latest` skips them. */
const DAMAGED = ['ACC_CHECKPOINT_CORRUPT', 'ACC_CHECKPOINT_INVALID'];

/** Saves and restores the run of an Accelerator. */
export class RunCheckpoints {
  readonly #context: RunContext;
  readonly #checkpoints: Checkpoints;
  readonly #isAsync: boolean;
  readonly #registered: Stateful[] = [];
  /** The hooks that run before a save or a load. */
  readonly hooks = new StateHooks();
  /** Keeps the run for the next start of the job. Undefined if there is none. */
  readonly rescuing: Rescuing | undefined;

  constructor(
    {
      environment,
      joinable,
      ...context
    }: Omit<RunContext, 'registered'> & {
      readonly environment: Pick<LaunchEnvironment, 'rescue'>;
      readonly joinable: Joinable;
    },
    { checkpoint, projectDir }: Pick<ResolvedOptions, 'checkpoint' | 'projectDir'>,
  ) {
    const resolved = resolveCheckpointOptions(checkpoint);
    this.#context = { ...context, registered: this.#registered };
    this.#isAsync = resolved.async;
    const { kernels, collective } = context;
    const defaultDir = join(projectDir, 'checkpoints');
    const options = resolved.storage ? resolved : { ...resolved, dir: resolved.dir ?? defaultDir };
    this.#checkpoints = new Checkpoints({ options, layer: kernels.state, collective });
    const { rescue: place } = environment;
    if (!place || !resolved.rescue) return;
    this.rescuing = new Rescuing({
      ...{ run: this.#context, place, joinable, isPreempting: isPreempting(checkpoint) },
      epoch: () => this.#epoch(),
    });
  }

  /** @throws AccError `ACC_INVALID_ARGUMENT` if an object lacks `getState` or `setState`. */
  register(objects: readonly Stateful[]): void {
    for (const each of objects) {
      if (typeof each?.getState === 'function' && typeof each.setState === 'function') continue;
      throw new AccError(
        'ACC_INVALID_ARGUMENT',
        'registerForCheckpointing needs objects with the methods getState() and setState(state).',
        { help: 'Give the object both methods. getState() returns plain values and tensors.' },
      );
    }
    this.#registered.push(...objects);
  }

  async save(path: string | undefined, options: SaveStateOptions): Promise<string | undefined> {
    checkKeys('saveState', options, ['async', 'metrics']);
    const start = performance.now();
    const { metrics = {} } = options;
    const { fit, collective } = this.#context;
    if (collective.rank === 0) fit.callbacks.warnOfUnsaved();
    await this.#runHooks('saveState', path);
    const collected = await collectRun(this.#context);
    const { step } = collected.shared;
    const info = { step, epoch: this.#epoch(), savedAt: new Date().toISOString(), metrics };
    try {
      return await this.#checkpoints.save(path, { info, ...collected }, options.async ?? this.#isAsync);
    } finally {
      for (const tensor of collected.made) tensor.dispose();
      noteWait('saves', start);
    }
  }

  #runHooks(before: 'saveState' | 'loadState', path: string | undefined): Promise<void> {
    const { collective, preparation } = this.#context;
    return this.hooks.run(before, { models: [...preparation.prepared.models], path }, collective);
  }

  settle(): Promise<void> {
    return this.#checkpoints.settle();
  }

  async load(path: string, options: LoadStateOptions): Promise<RestoredRun | undefined> {
    checkKeys('loadState', options, ['ifPresent']);
    await this.settle();
    let ran: Promise<void> | undefined;
    const runHooks = () => (ran ??= this.#runHooks('loadState', path));
    const restore: Restore = async (open) => {
      await runHooks();
      return await this.#restore(open);
    };
    const restored =
      path === 'latest'
        ? ((await this.#loadKept(restore)) ?? (await this.#loadNewest(restore, options)))
        : await restore(() => this.#checkpoints.open(path));
    if (restored) await this.rescuing?.hold();
    return restored;
  }

  /** Resumes from what ranks kept in memory, if it is not older than the newest checkpoint. */
  async #loadKept(restore: Restore): Promise<RestoredRun | undefined> {
    if (!this.rescuing) return undefined;
    const newest = await this.#checkpoints.newestSaved(new Set());
    return await this.rescuing.resume(newest?.step, restore);
  }

  async #loadNewest(restore: Restore, options: LoadStateOptions): Promise<RestoredRun | undefined> {
    const tried = new Set<string>();
    let name = await this.#checkpoints.newest(tried);
    while (name !== undefined) {
      const opened = name;
      try {
        const restored = await restore(() => this.#checkpoints.openNamed(opened));
        this.#checkpoints.use(opened);
        return restored;
      } catch (error) {
        if (!isAccError(error) || !DAMAGED.includes(error.code)) throw error;
        tried.add(opened);
        name = await this.#checkpoints.newest(tried);
        const next = name === undefined ? '' : ' Trying the checkpoint before it.';
        if (this.#context.collective.rank === 0)
          console.warn(`acc: ${error.code}: ${withoutHelp(error.message)}${next}`);
      }
    }
    if (options.ifPresent && tried.size === 0) return undefined;
    throw this.#nothingFound(tried, options);
  }

  async #restore(open: () => Promise<Checkpoint>): Promise<RestoredRun> {
    const run = await readRun(open, this.#context);
    try {
      await run.apply();
    } finally {
      run.dispose();
    }
    const { index, location } = run.checkpoint;
    return { path: describeLocation(location), step: index.step, epoch: index.epoch };
  }

  #epoch(): number {
    const { fit, data } = this.#context;
    return fit.position?.epoch ?? data.positions[0]?.epoch ?? 0;
  }

  #nothingFound(tried: ReadonlySet<string>, { ifPresent }: LoadStateOptions): AccError {
    const { place } = this.#checkpoints;
    const which =
      tried.size > 0
        ? `All complete checkpoints in ${place} are damaged`
        : `There is no complete checkpoint in ${place}`;
    return new AccError('ACC_CHECKPOINT_NOT_FOUND', `${which}.`, {
      help:
        tried.size === 0
          ? "Call saveState() to create one, or loadState('latest', { ifPresent: true }) to start without one."
          : `Bring back an intact copy of one of them. To start from the beginning, move that folder away${ifPresent ? '' : ' and give { ifPresent: true }'}.`,
      details: { place, damaged: [...tried] },
    });
  }
}
