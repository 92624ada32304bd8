import type { NamedTensorMap, Scalar, Tensor, Variable } from '@tensorflow/tfjs-core';
import type { LoadedWeights, LoadWeightsOptions, WriteModelOptions } from '@acc/checkpoint';
import type { CompiledStep, CompileOptions } from '@acc/compile';
import {
  AccError,
  engineAdvice,
  finallyAfter,
  type AutocastOptions,
  type Mesh,
  type ReduceOp,
  type RunConfig,
  type RunStatus,
  type Stateful,
  type Traffic,
  type Tracker,
} from '@acc/contract';
import type { Profile, ProfileOptions } from '@acc/profile';
import type { Nested } from '@acc/tape';
import type {
  ArtifactOptions,
  ModelOptions,
  HistogramInput,
  HistogramOptions,
  ImageInputs,
  LogOptions,
  MetricValues,
  RunOptions,
  TableInput,
} from '@acc/tracker';
import { assemble, type Components } from './assemble.js';
import { isCollective } from './collective-options.js';
import { configuredOptions, readLaunchEnvironment } from './environment.js';
import { joinUnevenInputs, type JoinUnevenInputsOptions } from './join/join-uneven-inputs.js';
import { Joinable } from '#platform/joinable';
import { offerLocalTraining } from './local-steps/local-training.js';
import { Communication } from './nested/communication.js';
import type { Gathered } from './nested/gather-real.js';
import { JobCollectives } from './nested/job-collectives.js';
import type { PadOptions } from './nested/pad-across.js';
import type { SplitOptions, Splittable } from './nested/split-between.js';
import { explainWithoutAwait } from './not-awaited.js';
import { requireOneTfjs } from './one-tfjs.js';
import { resolveOptions, type AcceleratorOptions } from './options.js';
import type { ModelInputs } from '@acc/pipeline';
import type { PipelineOptions } from './pipelined/options.js';
import type { PreparedAll } from './prepare/prepared-types.js';
import { refuseTraining } from './prepare/after-end.js';
import { collectiveOf, placeIn } from '#platform/several-ranks';
import { kernelsOf } from './presets/kernels.js';
import { determinismOf } from './presets/strategy.js';
import { ProcessRole } from './process-role.js';
import { disposeAll, release } from './release.js';
import { requireFunction, requireRunStatus } from './require-arguments.js';
import { setRunning, whatRuns, type Running } from './running.js';
import type { Weighted } from './state/model-weights.js';
import type { LoadStateOptions, RestoredRun, SaveStateOptions } from './state/run-checkpoints.js';
import { SavedRun } from './state/saved-run.js';
import type { RemovableHandle, StatePreHook } from './state/state-hooks.js';
import { onRows } from './step/batch-rows.js';
import type { AccumulateOptions } from './step/training-step.js';
import { TrainingMethods } from './training-methods.js';
import { startTrackers } from './tracking/start-trackers.js';

/** The layout of the ranks of a job. */
export type MeshView = Pick<Mesh, 'axes' | 'coordinates' | 'size' | 'ranks'>;

/**
 * Trains an existing tfjs program on every process of a job. If the program was started by `acc
 * launch`, or by a launcher that sets torchrun's variables, the Accelerator joins the other
 * processes. Otherwise it is one process without a network.
 *
 * The results of collectives are disposed by the caller or by its `tf.tidy`.
 */
export class Accelerator {
  readonly #components: Components;
  readonly #role: ProcessRole;
  readonly #collectives: JobCollectives;
  readonly #training: TrainingMethods;
  readonly #communication: Communication;
  readonly #run: SavedRun;
  readonly #running: Running;

  private constructor(components: Components) {
    if (!(components as Partial<Components> | undefined)?.lifetime) throw notConstructed();
    this.#components = components;
    const { environment, trainingStep, kernels, collective, strategy } = components;
    this.#collectives = new JobCollectives(components);
    this.#role = new ProcessRole(environment, {
      waitForEveryone: () => this.waitForEveryone(),
      gatherObject: (values) => this.gatherObject(values),
      onRows: (rows, fn) => onRows(trainingStep, rows, fn),
    });
    this.#training = new TrainingMethods(components);
    this.#communication = new Communication(components);
    this.#run = new SavedRun(components);
    this.#running = {
      ...{ trainingStep, kernels, collective, strategy, localSize: environment.localSize },
      freeMemory: () => this.freeMemory(),
    };
    setRunning(this.#running);
    offerLocalTraining(this, components);
  }

  /**
   * Chooses the engine and joins the process group. Options that are not given come from `ACC_*`
   * variables, else from the config file of `acc config`, else they have defaults.
   *
   * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_ENVIRONMENT`,
   * `ACC_LIBTORCH_MISSING`, `ACC_PORT_TAKEN`, `ACC_RENDEZVOUS_FAILED`, `ACC_OPTIONS_DIFFER`,
   * `ACC_DETERMINISTIC_BACKEND`, `ACC_DETERMINISTIC_UNSUPPORTED`. `ACC_ALREADY_CREATED` if the
   * previous Accelerator was not freed with `freeMemory`. `ACC_GROUP_JOINED` if the process already
   * joined a process group with other options. `ACC_TRAINING_ENDED` after `endTraining` in a job of
   * several processes. `ACC_CONFIG_MISSING` and `ACC_CONFIG_INVALID` for a config file.
   * `ACC_OPTIONS_DISAGREE` if the command line of `acc launch` gives another value. `ACC_NOT_CREATED` if
   * a member is read from the promise. `ACC_TFJS_COPIES` if the program imports another copy of tfjs.
   */
  static create(options: AcceleratorOptions = {}): Promise<Accelerator> {
    return explainWithoutAwait(Accelerator.#created(options), Accelerator, 'Accelerator.create()');
  }

  static async #created(options: AcceleratorOptions): Promise<Accelerator> {
    if (whatRuns()) {
      throw new AccError('ACC_ALREADY_CREATED', 'This process already has an Accelerator.', {
        help: 'Use that one, or call its freeMemory() before you create another.',
      });
    }
    const resolved = resolveOptions(await configuredOptions(options));
    const launched = readLaunchEnvironment();
    const { collective } = resolved;
    const environment = isCollective(collective) ? placeIn(collective, launched) : launched;
    const ofProcess = await kernelsOf(resolved, environment);
    requireOneTfjs();
    const { kernels } = ofProcess;
    const joinable = new Joinable(await collectiveOf(environment, resolved, ofProcess));
    const determinism = determinismOf(resolved, joinable.collective, kernels);
    try {
      const given = { environment, kernels: determinism?.kernels ?? kernels, joinable, determinism };
      return new Accelerator(assemble(resolved, given));
    } catch (error) {
      determinism?.end();
      throw error;
    }
  }

  // Processes of the job.

  /** The number of ranks of the job. */
  get numProcesses(): number {
    return this.#role.numProcesses;
  }

  /** The rank of this process in the job, from 0. */
  get processIndex(): number {
    return this.#role.processIndex;
  }

  /** The number of ranks of the job on this host. */
  get localNumProcesses(): number {
    return this.#role.localNumProcesses;
  }

  /** The rank of this process on its host, from 0. */
  get localProcessIndex(): number {
    return this.#role.localProcessIndex;
  }

  /** How the ranks of the job are laid out, and this rank's place. */
  get mesh(): MeshView {
    return this.#components.mesh;
  }

  /** Whether this is rank 0 of the job. */
  get isMainProcess(): boolean {
    return this.#role.isMain;
  }

  /** Whether this is the first rank of its host. */
  get isLocalMainProcess(): boolean {
    return this.#role.isLocalMain;
  }

  /** Whether this is the last rank of the job. */
  get isLastProcess(): boolean {
    return this.#role.isLast;
  }

  /** The device of the active backend's tensors: `cpu`, `cuda:0`. */
  get device(): string {
    return this.#components.kernels.device;
  }

  /** The name of the active tfjs backend. `tf.setBackend` may change it at any time. */
  get backendName(): string {
    return this.#components.kernels.backendName;
  }

  /**
   * The traffic that this rank has sent since the last call, for each axis of the mesh. If the mesh
   * has several axes, `all` has the collectives over all ranks. Bytes are those of ring algorithms,
   * whatever the engine does: an all-reduce of B bytes over n ranks counts as 2 B (n - 1) / n.
   */
  communication(): Record<string, Traffic> {
    return this.#communication.report();
  }

  /**
   * Makes `peakAllocatedBytes` of `tf.memory()` count from now on.
   *
   * @throws AccError `ACC_MEMORY_NOT_MEASURED` if the active backend does not measure its memory.
   */
  resetPeakMemory(): void {
    const { resetPeakMemory, backendName } = this.#components.kernels;
    if (!resetPeakMemory) throw memoryNotMeasured(backendName);
    resetPeakMemory();
  }

  /**
   * Runs `fn`, which trains, and measures some of its optimizer steps: their time by phase and by
   * operator, FLOPs, MFU and memory. Figures are those of this rank. Every rank calls it, since ranks
   * wait for each other in training.
   *
   * `console.log(String(profile))` prints them. The peak that `tf.memory()` reports counts from the first
   * measured step on. Observing costs some microseconds for each operator call.
   *
   * @throws AccError `ACC_UNKNOWN_OPTION`; `ACC_INVALID_OPTION`, also if `fn` takes fewer steps than
   * the schedule needs; `ACC_INVALID_ARGUMENT`; `ACC_BACKEND_CANNOT` on another backend than `acc`;
   * `ACC_STORAGE_FULL`, `ACC_STORAGE_DENIED`, `ACC_STORAGE_FAILED`. Errors of `fn` are passed on.
   */
  async profile(fn: () => unknown, options: ProfileOptions = {}): Promise<Profile> {
    requireFunction('profile', fn);
    this.#components.lifetime.requireRunning('profile');
    return this.#components.profiler.run(fn, options);
  }

  /** Calls `console.log` on the main process only. */
  print(...values: unknown[]): void {
    if (this.isMainProcess) console.log(...values);
  }

  /** Returns a function that runs `fn` on the main process, and returns undefined on others. */
  onMainProcess<A extends unknown[], R>(fn: (...args: A) => R): (...args: A) => R | undefined {
    return this.#role.on(0, fn, 'onMainProcess');
  }

  /**
   * Returns a function that runs `fn` on the first process of each host, and returns undefined on
   * others.
   */
  onLocalMainProcess<A extends unknown[], R>(fn: (...args: A) => R): (...args: A) => R | undefined {
    return this.#role.onLocal(0, fn, 'onLocalMainProcess');
  }

  /** Returns a function that runs `fn` on the last process, and returns undefined on others. */
  onLastProcess<A extends unknown[], R>(fn: (...args: A) => R): (...args: A) => R | undefined {
    return this.#role.on(this.numProcesses - 1, fn, 'onLastProcess');
  }

  /** Returns a function that runs `fn` on one process, and returns undefined on others. */
  onProcess<A extends unknown[], R>(index: number, fn: (...args: A) => R): (...args: A) => R | undefined {
    return this.#role.on(index, fn);
  }

  /**
   * Returns a function that runs `fn` on one process of each host, and returns undefined on others.
   */
  onLocalProcess<A extends unknown[], R>(
    index: number,
    fn: (...args: A) => R,
  ): (...args: A) => R | undefined {
    return this.#role.onLocal(index, fn);
  }

  /**
   * Runs `fn` on the main process first, then on the others. The others run it even if the main
   * process's `fn` throws or rejects. Only the main process gets that error.
   *
   * @throws AccError `ACC_INVALID_ARGUMENT` if `fn` is not a function.
   */
  mainProcessFirst<R>(fn: () => R | Promise<R>): Promise<R> {
    return this.#role.mainFirst(fn);
  }

  /**
   * Like {@link mainProcessFirst}, but for each host: the first process of a host runs `fn` before
   * the other processes of that host.
   */
  localMainProcessFirst<R>(fn: () => R | Promise<R>): Promise<R> {
    return this.#role.localMainFirst(fn);
  }

  /**
   * Calls `fn` with this process's part of `inputs` and returns its result. A part of a tensor is a
   * range of rows, a part of an array is a range of items, and a part of a record has the part of
   * each value. If the number of items does not divide evenly, the first processes get one item
   * more. Tensors that were cut are disposed after `fn`, or its promise, has ended. Items of an
   * array are not disposed.
   *
   * @param options `applyPadding`: repeats the last item, so that every process gets the same
   * number of items.
   * @throws AccError `ACC_INVALID_ARGUMENT`, `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
   */
  splitBetweenProcesses<T extends Splittable, R>(
    inputs: T,
    fn: (share: T) => R,
    options: SplitOptions = {},
  ): R {
    return this.#role.splitBetween(inputs, fn, options);
  }

  /** Sets the trigger of this process. {@link checkTrigger} reports it to every rank. */
  setTrigger(): void {
    this.#role.setTrigger();
  }

  /**
   * Returns whether any rank has called {@link setTrigger}, and clears all triggers. Every rank
   * calls it.
   */
  checkTrigger(): boolean {
    return this.#role.checkTrigger();
  }

  // Training.

  /**
   * Prepares objects in place and returns them in the same order. A single object is returned
   * itself. Data is wrapped. Every rank must prepare the same objects in the same order. All ranks
   * start with the weights of rank 0.
   *
   * @throws AccError `ACC_CANNOT_PREPARE`, `ACC_MODEL_NOT_BUILT`, `ACC_VARIABLES_DIFFER`.
   */
  prepare<T extends readonly unknown[]>(...objects: T): PreparedAll<T> {
    return this.#training.prepare(objects);
  }

  /**
   * Runs one micro-batch and returns the result of `fn`. If it is a promise, await it before the
   * next micro-batch.
   *
   * Gradients of prepared variables are accumulated, and prepared optimizers take no step, until a
   * micro-batch closes the window. That is the `gradientAccumulationSteps`-th one, the last one of
   * prepared data, or one with `last: true`. It applies the mean over all samples of the window on
   * all ranks. Before that, `fn` gets the gradients of its own rank.
   *
   * @param options `last`: whether the micro-batch closes the window early. If it is given, the end
   * of prepared data does not close the window.
   * @throws AccError `ACC_ACCUMULATE_NESTED`, `ACC_ACCUMULATE_VARIABLES`, `ACC_NOT_PREPARED`.
   */
  accumulate<T>(fn: () => T, options: AccumulateOptions = {}): T {
    return this.#training.accumulate(fn, options);
  }

  /**
   * Runs `fn`, or waits for its promise. Gradients that are computed in it are not reduced over
   * ranks.
   */
  noSync<T>(fn: () => T): T {
    return this.#training.noSync(fn);
  }

  /**
   * Whether the current or the last micro-batch closes its window, so that gradients are reduced
   * and the optimizer takes a step. False inside {@link noSync}.
   */
  get syncGradients(): boolean {
    return this.#components.trainingStep.syncsGradients;
  }

  /** The number of micro-batches in a step of the optimizer. */
  get gradientAccumulationSteps(): number {
    return this.#components.trainingStep.accumulation.steps;
  }

  /** Whether all ranks skipped the last step because its gradients were not finite. */
  get optimizerStepWasSkipped(): boolean {
    return this.#components.trainingStep.updates.wasSkipped;
  }

  /**
   * The norm of the gradients over all ranks, before they were last clipped by norm. Undefined if
   * they were never clipped by norm. Reading it waits for the device.
   */
  get gradientNorm(): number | undefined {
    return this.#components.trainingStep.clipping.lastNorm;
  }

  /**
   * States, inside a loss function, that `loss` is the mean over `count` items of this rank, for
   * example tokens. Returns `loss`. Its gradient is weighted with `count`: the result is the mean
   * over the items of all micro-batches of a window on all ranks. Every rank must call it for the
   * same losses.
   *
   * @param count May differ between ranks and may be 0. On the axes `context` and `expert`, and with
   * synchronised batch normalisation, the loss must not be NaN then. A scalar tensor is read from the device.
   * @throws AccError `ACC_INVALID_ARGUMENT`, `ACC_DETERMINISTIC_UNSUPPORTED`.
   */
  weighLoss<T extends Tensor>(loss: T, count: number | Tensor): T {
    return this.#training.weighLoss(loss, count);
  }

  /**
   * Like `tf.variableGrads`, but with gradients that are ready for `applyGradients`: they are
   * reduced over ranks, and clipped as the options say. Variables that are not prepared are
   * prepared first, as in `minimize` of a prepared optimizer. Inside a window, the gradients are
   * those of this rank's micro-batch. The caller disposes the result.
   */
  backward(loss: () => Scalar, varList?: Variable[]): { value: Scalar; grads: NamedTensorMap } {
    return this.#training.backward(loss, varList);
  }

  /**
   * Clips gradients by their norm over all variables. If ranks hold shards, the norm is that over
   * all ranks. The record is changed, and tensors that are replaced in it are disposed.
   *
   * @returns The norm before clipping. It is read from the device, unlike with the option
   * `gradientClipping`.
   * @throws AccError `ACC_INVALID_ARGUMENT`.
   */
  clipGradNorm(grads: NamedTensorMap, maxNorm: number): number {
    return this.#training.clipNorm(grads, maxNorm);
  }

  /**
   * Clips every element to [-value, value]. The record is changed, and tensors that are replaced in
   * it are disposed.
   *
   * @throws AccError `ACC_INVALID_ARGUMENT`.
   */
  clipGradValue(grads: NamedTensorMap, value: number): void {
    this.#components.trainingStep.clipping.clipValue(grads, value);
  }

  /**
   * Trains a prepared model in stages on the ranks of the mesh axis `pipeline`. The result takes the
   * place of `minimize`: it steps the optimizer that was prepared with the model, or the compiled
   * one. Accumulation, clipping, precision and `weighLoss` act as there. On one process it takes the
   * same steps.
   *
   * Each rank keeps the weights and the optimizer state of its stages only. Reading a weight is a
   * call of all ranks of the pipeline from then on.
   *
   * @param loss The mean loss of a micro-batch, a scalar. A model with several outputs gives a list.
   * @returns A function of a batch. All ranks of one pipeline pass the same `xs` and `ys`, which stay
   * the caller's. It returns the loss of the batch, on each rank; the caller disposes it.
   * @throws AccError `ACC_PIPELINE_STAGES`, `ACC_PIPELINE_SHAPE`, `ACC_PIPELINE_WEIGHT`,
   * `ACC_NOT_PREPARED`, `ACC_STRATEGY_CANNOT`, `ACC_OPTIONS_DIFFER`. A step also throws
   * `ACC_PIPELINE_BATCH` and `ACC_PIPELINE_OPTIMIZER`.
   */
  pipelined<X extends ModelInputs = Tensor, Y extends Nested = Tensor, P = Tensor>(
    model: object,
    loss: (yTrue: Y, yPred: P) => Tensor,
    options: PipelineOptions = {},
  ): (xs: X, ys: Y) => Scalar {
    return this.#training.pipelined(model, loss, options);
  }

  /**
   * Returns the same step, made faster. Its native calls are recorded, and repeated in C++ for
   * arguments with the same dtypes and plain values. New sizes are recorded once. A replay runs no
   * JavaScript kernels and no tape. Optimizers, reductions over ranks and plugins work as without it.
   *
   * The step works on its arguments (tensors, plain values, arrays and records of them) and on
   * variables. Other values that it reads must not change. It runs in a `tf.tidy`, and the caller
   * owns its results. Other JavaScript code in it runs only in the first few calls. A step that
   * cannot be recorded runs as usual. The reason is in `reason` of the result and in one warning.
   *
   * A replay on a CPU runs chains of elementwise operators as one, as a plain step does. The option
   * `fuse` says what else is fused.
   *
   * @throws AccError `ACC_COMPILE_ASYNC`, `ACC_COMPILE_CHANGED`, and the errors of the step, when
   * called.
   */
  compile<Args extends unknown[], R>(
    step: (...args: Args) => R,
    options: CompileOptions = {},
  ): CompiledStep<Args, R> {
    return this.#training.compile(step, options);
  }

  /**
   * Runs `fn` in the mixed precision of the Accelerator. With `enabled: false` it runs `fn` in
   * float32, also within a training step. Without `mixedPrecision` it only runs `fn`. Returns the
   * result of `fn` in float32.
   */
  autocast<T>(fn: () => T, options?: AutocastOptions): T {
    return this.#training.autocast(fn, options);
  }

  /**
   * Runs `fn`, in which ranks may take different numbers of steps. A rank whose `fn` has ended
   * takes part in the collectives of the other ranks, without gradients. The gradients are the mean
   * over the ranks that still have data. At the end, every rank has the weights and the optimizer
   * state of a rank that took the most steps.
   *
   * Within `fn` each collective takes one more round. With `evenBatches: false`, prepared data may
   * end at a different step on each rank.
   *
   * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_JOIN_COLLECTIVE`, `ACC_DETERMINISTIC_UNSUPPORTED`,
   * and the errors of `fn`.
   */
  async joinUnevenInputs<T>(fn: () => T | Promise<T>, options: JoinUnevenInputsOptions = {}): Promise<T> {
    requireFunction('joinUnevenInputs', fn);
    this.#components.lifetime.requireRunning('joinUnevenInputs');
    return joinUnevenInputs(fn, options, this.#components);
  }

  /**
   * The number of rows of this rank in a full batch of `batchSize` rows. With `splitBatches` it is
   * the rank's part, otherwise all rows. Use it for constants that are created outside of the step.
   *
   * @throws AccError `ACC_INVALID_ARGUMENT`.
   */
  localBatchSize(batchSize: number): number {
    return this.#components.data.localBatchSize(batchSize);
  }

  /**
   * Returns prepared data that skips the first `batches` batches of this rank in each epoch. It
   * shares the epoch count with `data`. It is not needed after {@link loadState}.
   *
   * @throws AccError `ACC_INVALID_ARGUMENT`, `ACC_INVALID_OPTION`.
   */
  skipFirstBatches<T extends object>(data: T, batches: number): T {
    return this.#components.data.skipFirst(data, batches) as T;
  }

  // Collectives. Every rank calls them in the same order.

  /**
   * Joins the tensors of all ranks along dim 0, in the order of ranks. Scalars become
   * `[numProcesses]`. All collectives match tensors in records by their keys.
   *
   * @throws AccError `ACC_NOT_A_TENSOR`, `ACC_COLLECTIVE_MISMATCH`.
   */
  gather<T extends Nested>(values: T): T {
    return this.#collectives.gather(values);
  }

  /**
   * Like {@link gather}, but without the rows that only filled the last step of prepared data. It
   * also accepts other values. An array without tensors, or a typed array, is a list of rows. Any
   * other value is one item of a list. On a context axis, shards of tensors of rank 2 and above are
   * joined along dim 1, and other values are those of every shard.
   *
   * @throws AccError `ACC_COLLECTIVE_MISMATCH`, `ACC_OBJECT_NOT_SERIALIZABLE`.
   */
  gatherForMetrics<T>(values: T): Gathered<T> {
    return this.#collectives.gatherForMetrics(values);
  }

  /** Joins the arrays of all ranks, in the order of ranks. */
  gatherObject<T>(values: readonly T[]): T[] {
    return this.#collectives.gatherObject(values);
  }

  /**
   * Combines the tensors of all ranks element by element with `op`, and multiplies by `scale`. As in
   * tfjs, the sum and the product of bool tensors are int32, and their mean is float32.
   */
  reduce<T extends Nested>(values: T, op: ReduceOp = 'sum', scale = 1): T {
    return this.#collectives.reduce(values, op, scale);
  }

  /**
   * Returns the tensors of `fromProcess` on every rank. All ranks must pass the same shapes and
   * dtypes.
   */
  broadcast<T extends Nested>(values: T, fromProcess = 0): T {
    return this.#collectives.broadcast(values, fromProcess);
  }

  /** Returns the object of `fromProcess` on every rank. */
  broadcastObject<T>(object: T, fromProcess = 0): T {
    return this.#collectives.broadcastObject(object, fromProcess);
  }

  /**
   * Pads tensors along one dim to the largest size of any rank, so that they can be gathered or
   * reduced. A tensor without that dim is returned unchanged. The caller disposes the result.
   *
   * @param options `dim`, default 0; `padIndex`: the value of the padding, default 0; `padFirst`:
   * whether the padding comes first.
   * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
   */
  padAcrossProcesses<T extends Nested>(values: T, options: PadOptions = {}): T {
    return this.#collectives.padAcross(values, options);
  }

  /** Returns when every rank has called it. */
  waitForEveryone(): void {
    this.#collectives.waitForEveryone();
  }

  // Checkpoints and models.

  /**
   * Saves the whole run: weights, optimizers, schedules, loss scale, an unfinished window of
   * accumulation, random states, the position in prepared data and in `fit`, plugins, and the
   * objects of {@link registerForCheckpointing}. Every rank calls it between steps, and writes its
   * share. A checkpoint that was not written completely is never loaded.
   *
   * @param path A folder, or a key prefix in `checkpoint.storage`. An existing checkpoint is
   * replaced. Default: a new name in `checkpoint.dir`.
   * @returns The path. Undefined if the save failed and `checkpoint.onError` is `warn`.
   * @throws AccError `ACC_CHECKPOINT_SAVE_FAILED` on all ranks, also for an earlier async save;
   * `ACC_STATE_INVALID`, `ACC_UNKNOWN_OPTION`.
   */
  saveState(path?: string, options: SaveStateOptions = {}): Promise<string | undefined> {
    return this.#run.saveState(path, options);
  }

  /**
   * Resumes a run from a checkpoint, which may come from another number of ranks. Call it after
   * `prepare` and `registerForCheckpointing`, with the same objects in the same order as in the
   * saved run. Prepared data and `fit` then continue at the saved position. Everything is read and
   * verified before anything is changed.
   *
   * @param path The path of the checkpoint. Default: `latest`, the newest complete one in
   * `checkpoint.dir`.
   * @throws AccError `ACC_CHECKPOINT_NOT_FOUND`, `ACC_CHECKPOINT_CORRUPT`,
   * `ACC_CHECKPOINT_MISMATCH`, `ACC_CHECKPOINT_VERSION`.
   */
  loadState(path?: string, options?: LoadStateOptions & { ifPresent?: false }): Promise<RestoredRun>;
  loadState(path: string | undefined, options: LoadStateOptions): Promise<RestoredRun | undefined>;
  loadState(path = 'latest', options: LoadStateOptions = {}): Promise<RestoredRun | undefined> {
    return this.#run.loadState(path, options);
  }

  /**
   * Adds objects with `getState()` and `setState(state)` to checkpoints. Each rank saves its own
   * state of them.
   *
   * @throws AccError `ACC_INVALID_ARGUMENT`.
   */
  registerForCheckpointing(...objects: readonly Stateful[]): void {
    this.#run.register(objects);
  }

  /**
   * Adds a hook that runs before each {@link saveState} reads the run, also before the saves of `fit`
   * and of a signal. Every rank adds the same hooks. An error of a hook on one rank throws on all,
   * and nothing is saved.
   *
   * @returns A handle whose `remove()` takes the hook away.
   * @throws AccError `ACC_INVALID_ARGUMENT`.
   */
  registerSaveStatePreHook(hook: StatePreHook): RemovableHandle {
    return this.#run.addHook('saveState', hook);
  }

  /**
   * Adds a hook that runs before each {@link loadState} reads a checkpoint, and not if `latest` finds
   * none. It is otherwise like {@link registerSaveStatePreHook}.
   */
  registerLoadStatePreHook(hook: StatePreHook): RemovableHandle {
    return this.#run.addHook('loadState', hook);
  }

  /**
   * Resolves when an async save is complete. Every rank calls it.
   *
   * @throws AccError `ACC_CHECKPOINT_SAVE_FAILED`.
   */
  waitForCheckpoint(): Promise<void> {
    return this.#components.checkpoints.settle();
  }

  /**
   * Saves and exits if the job received a signal to end. Loops without prepared data call it
   * between steps. Prepared data calls it automatically.
   */
  checkPreemption(): Promise<void> {
    return this.#components.atBoundary();
  }

  /**
   * Writes a model, or a list of variables, for use in other programs. The files have whole
   * weights, and the topology if the model is a tf.LayersModel. Every rank calls it, and rank 0
   * writes.
   *
   * @param path A folder.
   * @throws AccError `ACC_INVALID_ARGUMENT`, `ACC_INVALID_OPTION`, `ACC_UNKNOWN_OPTION`;
   * `ACC_QUANTIZE_VALUES` for values that `quantization` does not hold; and those of the storage.
   */
  saveModel(model: Weighted, path: string, options: WriteModelOptions = {}): Promise<void> {
    return this.#run.saveModel(model, path, options);
  }

  /**
   * Writes tensors of rank 0 into safetensors files, whose names are their paths: `encoder.bias`,
   * `layers[0]`. Every rank calls it, and all go on once the files are complete. The caller still owns the
   * tensors.
   *
   * @param path A folder, as for {@link saveModel}.
   * @throws AccError `ACC_NOT_A_TENSOR`, `ACC_INVALID_ARGUMENT`, `ACC_UNKNOWN_OPTION`, and those of the
   * storage.
   */
  save(
    values: Nested,
    path: string,
    options: Omit<WriteModelOptions, 'format' | 'quantization'> = {},
  ): Promise<void> {
    return this.#run.save(values, path, options);
  }

  /**
   * Loads the weights of a model, or of a list of variables. It reads safetensors, for example from
   * the Hugging Face Hub, a `model.json` of tfjs, or a checkpoint. `names` maps the names of stored
   * weights to those of the model. Every rank calls it, and reads.
   *
   * @throws AccError `ACC_WEIGHTS_NOT_FOUND`, `ACC_WEIGHTS_MISMATCH`, `ACC_SAFETENSORS_INVALID`,
   * `ACC_DTYPE_UNSUPPORTED`.
   */
  loadModel(model: Weighted, path: string, options: LoadWeightsOptions = {}): Promise<LoadedWeights> {
    return this.#run.loadModel(model, path, options);
  }

  /**
   * Returns the model itself, because `prepare` changes how a model computes, but returns the same
   * object.
   */
  unwrapModel<T extends object>(model: T): T {
    return model;
  }

  /**
   * Returns the whole weights of a model, or of a list of variables, by name. If ranks hold shards,
   * every rank calls it. The caller disposes the tensors.
   */
  getStateDict(model: Weighted): NamedTensorMap {
    return this.#run.stateDict(model);
  }

  // Trackers.

  /**
   * Begins a run and starts the trackers of `logWith`. Every rank calls it. Trackers run on the
   * main process, except those that ask for all ranks. A tracker whose server does not answer keeps
   * trying, and entries that are logged meanwhile are kept.
   *
   * @param config Hyperparameters.
   * @param perTracker Options of the trackers in `logWith`, by name.
   * @param run The name and tags of the run, or the earlier run to resume.
   * @throws AccError `ACC_NO_TRACKERS`, `ACC_TRACKER_MISSING`, `ACC_TRACKER_INVALID`,
   * `ACC_TRACKER_START`, `ACC_TRACKER_CANNOT`, `ACC_TRACKER_DUPLICATE`, `ACC_TRACKERS_RUNNING`,
   * `ACC_RUN_MISSING`, `ACC_PROJECT_DIR`, `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`,
   * `ACC_INVALID_ARGUMENT`.
   */
  initTrackers(
    project: string,
    config: RunConfig = {},
    perTracker: Readonly<Record<string, object>> = {},
    run: RunOptions = {},
  ): Promise<void> {
    const started = { project, config, perTracker, run, isMain: this.isMainProcess };
    return startTrackers(this.#components.tracking, started, (object) => this.broadcastObject(object));
  }

  /**
   * The folder of the current or the last run. In a page it is in the private files of the page's
   * origin (OPFS). Undefined before {@link initTrackers}.
   */
  get runDir(): string | undefined {
    return this.#components.tracking.bus.run?.dir;
  }

  /**
   * Logs numbers to all trackers. It returns at once, and trackers get the values later, in order.
   * Scalar tensors are read, which waits for the device. Any rank may call it.
   *
   * @throws AccError `ACC_TRACKERS_NOT_STARTED`, `ACC_TRACKERS_FINISHED`, `ACC_INVALID_ARGUMENT`,
   * `ACC_UNKNOWN_OPTION`. The other methods that log throw the same errors.
   */
  log(values: MetricValues, options?: LogOptions): void {
    this.#components.tracking.bus.log(values, options);
  }

  /**
   * Logs images. An image is a tensor `[height, width]`, `[height, width, channels]` or `[n,
   * height, width, channels]`, with floats from 0 to 1 or integers from 0 to 255; pixels as in a
   * canvas's ImageData; or a PNG file.
   *
   * Trackers without `logImage` do not get them, which a warning says once. The methods below do
   * likewise.
   */
  logImages(images: ImageInputs, options?: LogOptions): void {
    this.#components.tracking.bus.logImages(images, options);
  }

  /**
   * Logs the distribution of the values of tensors or arrays, for example of weights or gradients.
   * The caller still owns the tensors.
   */
  logHistogram(values: Readonly<Record<string, HistogramInput>>, options?: HistogramOptions): void {
    this.#components.tracking.bus.logHistogram(values, options);
  }

  /** Logs a table: columns and rows, or a list of records. */
  logTable(key: string, table: TableInput, options?: LogOptions): void {
    this.#components.tracking.bus.logTable(key, table, options);
  }

  /** Logs texts to all trackers, for example samples that a model generates. */
  logText(texts: Readonly<Record<string, string>>, options?: LogOptions): void {
    this.#components.tracking.bus.logText(texts, options);
  }

  /**
   * Logs a file or a folder, for example a model or a checkpoint. A tracker reads it later, when it
   * stores it. Keep it in place until then.
   *
   * @throws AccError also `ACC_ARTIFACT_MISSING`.
   */
  logArtifact(name: string, path: string, options?: ArtifactOptions): void {
    this.#components.tracking.bus.logArtifact(name, path, options);
  }

  /**
   * Writes a model into the run's folder as {@link saveModel} does, and logs its files. With
   * `registeredName`, a tracker with a registry of models adds it as a new version, to which `aliases` then
   * point. Every rank calls it, and rank 0 writes.
   *
   * @param name The name of its files in the run: letters, digits, `_`, and after the first one `-` and `.`.
   * @throws AccError also `ACC_INVALID_ARGUMENT`, `ACC_UNKNOWN_OPTION`, and those of {@link saveModel}.
   */
  logModel(name: string, model: Weighted, options: ModelOptions = {}): Promise<void> {
    const write = (path: string) => this.saveModel(model, path);
    return this.#components.tracking.bus.logModel(name, options, write);
  }

  /**
   * Returns a tracker of the run by its name. Undefined on ranks on which it does not run.
   *
   * @throws AccError `ACC_TRACKERS_NOT_STARTED`, `ACC_TRACKER_UNKNOWN`.
   */
  getTracker(name: string): Tracker | undefined {
    return this.#components.tracking.bus.getTracker(name);
  }

  // The end.

  /**
   * Waits for every rank and for saves, awaited or not, and leaves the job. Then trackers get the
   * remaining entries, and the run ends with `status`. Later collectives, and later steps that train
   * prepared variables, throw `ACC_TRAINING_ENDED`. A second call does nothing.
   *
   * @throws AccError `ACC_INVALID_ARGUMENT` for an unknown status, and the errors of an async save.
   */
  async endTraining(status: RunStatus = 'completed'): Promise<void> {
    requireRunStatus('endTraining', status);
    const { collective, lifetime, tracking } = this.#components;
    if (lifetime.hasEnded) return;
    await this.#run.settle();
    collective.barrier();
    this.freeMemory();
    collective.close();
    lifetime.end();
    if (!whatRuns()) setRunning(undefined, refuseTraining());
    await tracking.bus.finish(status);
  }

  /**
   * Restores the original methods of prepared objects and of tfjs. Afterwards another Accelerator
   * may be created. This one still knows its rank, gathers, logs, and can end the training. Its
   * methods that train or save a run throw `ACC_ACCELERATOR_FREED`.
   *
   * @param objects Models, optimizers, tensors and variables, and arrays and records of them. They
   * are disposed.
   */
  freeMemory(...objects: readonly object[]): void {
    const { isRunning } = this.#components.lifetime;
    finallyAfter(
      () => isRunning && release(this.#components, this.#running, this.#training),
      () => objects.forEach(disposeAll),
    );
  }

  /** Calls freeMemory, at the end of the block of a `using` declaration. */
  [Symbol.dispose](): void {
    this.freeMemory();
  }
}

function memoryNotMeasured(backendName: string): AccError {
  const message = `The tfjs backend '${backendName}' does not measure its memory.`;
  return new AccError('ACC_MEMORY_NOT_MEASURED', message, { help: engineAdvice('leave this call out') });
}

function notConstructed(): AccError {
  return new AccError(
    'ACC_NOT_CREATED',
    'An Accelerator cannot be created with `new`, because it must join its job first.',
    {
      help: 'Write `const accelerator = await Accelerator.create({ … })`, with the same options.',
    },
  );
}
