import type { NamedTensorMap, Scalar, Tensor, Variable } from '@tensorflow/tfjs-core';
import type { LoadedWeights, LoadWeightsOptions, WriteModelOptions } from '@acc/checkpoint';
import {
  AccError,
  type AutocastOptions,
  type ReduceOp,
  type RunConfig,
  type RunStatus,
  type Stateful,
  type Tracker,
} from '@acc/contract';
import type {
  ArtifactOptions,
  HistogramInput,
  HistogramOptions,
  ImageInputs,
  LogOptions,
  MetricValues,
  RunOptions,
  TableInput,
} from '@acc/tracker';
import { assemble, type Parts } from './assemble.js';
import type { CompiledStep } from './compile/compile.js';
import { readLaunchEnvironment } from './environment.js';
import { joinUnevenInputs, type JoinUnevenInputsOptions } from './join/join-uneven-inputs.js';
import { Joinable } from './join/joinable.js';
import { offerLocalTraining } from './local-steps/local-training.js';
import type { Gathered } from './nested/gather-real.js';
import { JobCollectives } from './nested/job-collectives.js';
import type { Nested } from './nested/nested.js';
import type { PadOptions } from './nested/pad-across.js';
import type { SplitOptions, Splittable } from './nested/split-between.js';
import { resolveOptions, type AcceleratorOptions } from './options.js';
import type { PreparedAll } from './prepare/prepared-types.js';
import { collectiveOf } from './presets/collective.js';
import { kernelsOf } from './presets/kernels.js';
import { determinismOf } from './presets/strategy.js';
import { ProcessRole } from './process-role.js';
import { disposeAll, release } from './release.js';
import { requireFunction, requireRunStatus } from './require-arguments.js';
import { setRunning, whatRuns, type Running } from './running.js';
import type { Weighted } from './state/model-weights.js';
import type { LoadStateOptions, RestoredRun, SaveStateOptions } from './state/run-checkpoints.js';
import { SavedRun } from './state/saved-run.js';
import { onRows } from './step/batch-rows.js';
import type { AccumulateOptions } from './step/step-pipeline.js';
import { TrainingSteps } from './step/training-steps.js';
import { startTrackers } from './tracking/start-trackers.js';

/**
 * Trains an existing tfjs loop on every process of a job. Started by `acc launch`, or by any launcher that sets torchrun's
 * variables, it joins the other processes. Started alone, it is one process without a network.
 *
 * The caller, or its tidy, disposes the results of collectives.
 */
export class Accelerator {
  readonly #parts: Parts;
  readonly #role: ProcessRole;
  readonly #collectives: JobCollectives;
  readonly #training: TrainingSteps;
  readonly #run: SavedRun;
  readonly #running: Running;

  private constructor(parts: Parts) {
    if (!(parts as Partial<Parts> | undefined)?.lifetime) throw notConstructed();
    this.#parts = parts;
    const { environment, pipeline, kernels, collective } = parts;
    this.#collectives = new JobCollectives(parts);
    this.#role = new ProcessRole(environment, {
      waitForEveryone: () => this.waitForEveryone(),
      gatherObject: (values) => this.gatherObject(values),
      onRows: (rows, fn) => onRows(pipeline, rows, fn),
    });
    this.#training = new TrainingSteps(parts);
    this.#run = new SavedRun(parts);
    this.#running = { pipeline, kernels, collective, freeMemory: () => this.freeMemory() };
    setRunning(this.#running);
    offerLocalTraining(this, parts);
  }

  /**
   * Chooses the engine and joins the process group.
   *
   * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_ENVIRONMENT`, `ACC_LIBTORCH_MISSING`,
   * `ACC_PORT_TAKEN`, `ACC_RENDEZVOUS_FAILED`, `ACC_OPTIONS_DIFFER`, `ACC_DETERMINISTIC_BACKEND`, `ACC_DETERMINISTIC_UNSUPPORTED`.
   * `ACC_ALREADY_CREATED` before the `freeMemory` of the last Accelerator. `ACC_GROUP_JOINED` for another process group than the
   * one that the process is in. `ACC_TRAINING_ENDED` after `endTraining` of several processes.
   */
  static async create(options: AcceleratorOptions = {}): Promise<Accelerator> {
    if (whatRuns()) {
      throw new AccError('ACC_ALREADY_CREATED', 'This process already has an Accelerator.', {
        help: 'Use that one, or call its freeMemory() before you create another.',
      });
    }
    const resolved = resolveOptions(options);
    const environment = readLaunchEnvironment();
    const ofProcess = await kernelsOf(resolved, environment);
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

  /** Ranks of the job. */
  get numProcesses(): number {
    return this.#role.numProcesses;
  }

  /** This process's rank in the job, from 0. */
  get processIndex(): number {
    return this.#role.processIndex;
  }

  /** Ranks of the job on this host. */
  get localNumProcesses(): number {
    return this.#role.localNumProcesses;
  }

  /** This process's rank on its host, from 0. */
  get localProcessIndex(): number {
    return this.#role.localProcessIndex;
  }

  get isMainProcess(): boolean {
    return this.#role.isMain;
  }

  get isLocalMainProcess(): boolean {
    return this.#role.isLocalMain;
  }

  get isLastProcess(): boolean {
    return this.#role.isLast;
  }

  /** Where tensors of the active backend live: `cpu`, `cuda:0`. */
  get device(): string {
    return this.#parts.kernels.device;
  }

  /** tfjs's name of the active backend. `tf.setBackend` may change it at any time. */
  get backendName(): string {
    return this.#parts.kernels.backendName;
  }

  /** `console.log`, on the main process only. */
  print(...values: unknown[]): void {
    if (this.isMainProcess) console.log(...values);
  }

  /** A function that runs `fn` on the main process, and returns undefined elsewhere. */
  onMainProcess<A extends unknown[], R>(fn: (...args: A) => R): (...args: A) => R | undefined {
    return this.#role.on(0, fn);
  }

  /** A function that runs `fn` on the first process of each host, and returns undefined elsewhere. */
  onLocalMainProcess<A extends unknown[], R>(fn: (...args: A) => R): (...args: A) => R | undefined {
    return this.#role.onLocal(0, fn);
  }

  /** A function that runs `fn` on the last process, and returns undefined elsewhere. */
  onLastProcess<A extends unknown[], R>(fn: (...args: A) => R): (...args: A) => R | undefined {
    return this.#role.on(this.numProcesses - 1, fn);
  }

  /** A function that runs `fn` on one process, and returns undefined elsewhere. */
  onProcess<A extends unknown[], R>(index: number, fn: (...args: A) => R): (...args: A) => R | undefined {
    return this.#role.on(index, fn);
  }

  /** A function that runs `fn` on one process of each host, and returns undefined elsewhere. */
  onLocalProcess<A extends unknown[], R>(
    index: number,
    fn: (...args: A) => R,
  ): (...args: A) => R | undefined {
    return this.#role.onLocal(index, fn);
  }

  /**
   * Runs `fn` on the main process first, then on the others. They run it also when the main process's `fn` throws or rejects;
   * that error is the main process's own.
   *
   * @throws AccError `ACC_INVALID_ARGUMENT` for what is no function.
   */
  mainProcessFirst<R>(fn: () => R | Promise<R>): Promise<R> {
    return this.#role.mainFirst(fn);
  }

  /** As {@link mainProcessFirst}, host by host: the first process of each host runs before the others of its host. */
  localMainProcessFirst<R>(fn: () => R | Promise<R>): Promise<R> {
    return this.#role.localMainFirst(fn);
  }

  /**
   * Calls `fn` at once with this process's share of `inputs`, and returns its result. The share of a tensor is contiguous rows
   * of it, that of an array is items, that of a record is the share of each value. Where the number does not divide evenly, the
   * first processes get one item more. Tensors that were cut are disposed when `fn`, or its promise, has ended; items of an
   * array are not.
   *
   * @param options `applyPadding`: repeats the last item, so that every process gets the same number of items.
   * @throws AccError `ACC_INVALID_ARGUMENT`, `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
   */
  splitBetweenProcesses<T extends Splittable, R>(
    inputs: T,
    fn: (part: T) => R,
    options: SplitOptions = {},
  ): R {
    return this.#role.splitBetween(inputs, fn, options);
  }

  /** Sets this process's trigger. {@link checkTrigger} tells every rank of it. */
  setTrigger(): void {
    this.#role.setTrigger();
  }

  /** Whether any rank has called {@link setTrigger}. Where one has, all triggers are cleared. Every rank calls it. */
  checkTrigger(): boolean {
    return this.#role.checkTrigger();
  }

  // Training.

  /**
   * Prepares objects in place and returns them in the same order; a single object is returned itself. Data is wrapped. Every
   * rank prepares the same objects in the same order. Ranks start from rank 0's weights.
   *
   * @throws AccError `ACC_CANNOT_PREPARE`, `ACC_MODEL_NOT_BUILT`, `ACC_VARIABLES_DIFFER`.
   */
  prepare<T extends readonly unknown[]>(...objects: T): PreparedAll<T> {
    return this.#training.prepare(objects);
  }

  /**
   * Runs one micro-batch and returns the result of `fn`. Await a promise before the next micro-batch. Gradients of prepared
   * variables that `fn` computes are held, and prepared optimizers take no step, until a micro-batch closes the window: the
   * `gradientAccumulationSteps`-th, the last of prepared data, or one with `last: true`. That one applies the mean over all
   * samples of the window on all ranks. Inside a window, the gradients that the loop gets are those of its own rank.
   *
   * @param options `last`: whether the micro-batch closes its window early. Where it is given, the end of prepared data does not count.
   * @throws AccError `ACC_ACCUMULATE_NESTED`, `ACC_NOT_PREPARED`.
   */
  accumulate<T>(fn: () => T, options: AccumulateOptions = {}): T {
    return this.#training.accumulate(fn, options);
  }

  /** Runs `fn`, to the end of its promise where it returns one. Gradients computed in it stay this rank's own. */
  noSync<T>(fn: () => T): T {
    return this.#training.noSync(fn);
  }

  /**
   * Whether the micro-batch that runs, or ran last, closes its window: gradients are synchronised, and the optimizer steps.
   * False inside {@link noSync}.
   */
  get syncGradients(): boolean {
    return this.#parts.pipeline.syncsGradients;
  }

  /** Micro-batches of a step of the optimizer. */
  get gradientAccumulationSteps(): number {
    return this.#parts.pipeline.accumulation.steps;
  }

  /** Whether all ranks skipped the last step because its gradients were not finite. */
  get optimizerStepWasSkipped(): boolean {
    return this.#parts.pipeline.updates.wasSkipped;
  }

  /**
   * The norm over all ranks that the gradients had before they were last clipped by norm; undefined before that. Reading it
   * waits for the device.
   */
  get gradientNorm(): number | undefined {
    return this.#parts.pipeline.clipping.lastNorm;
  }

  /**
   * Says inside a loss function that `loss`, this rank's mean, is one over `count` items, such as tokens. Returns `loss`. Its
   * gradient is weighted by `count`: over all micro-batches of a window and all ranks it is the mean over items. Every rank
   * calls it for the same losses.
   *
   * @param count May differ between ranks and be 0. A scalar tensor is read from the device.
   * @throws AccError `ACC_INVALID_ARGUMENT`, `ACC_DETERMINISTIC_UNSUPPORTED`.
   */
  weighLoss<T extends Tensor>(loss: T, count: number | Tensor): T {
    return this.#training.weighLoss(loss, count);
  }

  /**
   * As `tf.variableGrads`, ready for `applyGradients`: synchronised, and clipped as the options say. Variables that are not
   * prepared yet are prepared first, as a prepared optimizer's `minimize` does. Inside a window the gradients are those of this
   * rank's micro-batch. Caller disposes.
   */
  backward(loss: () => Scalar, varList?: Variable[]): { value: Scalar; grads: NamedTensorMap } {
    return this.#training.backward(loss, varList);
  }

  /**
   * Clips gradients by their norm over all variables, and over ranks where each holds a shard. Changes the record. Tensors that
   * are replaced in it are disposed. Returns the norm before clipping, which waits for the device; the option
   * `gradientClipping` does not wait.
   *
   * @throws AccError `ACC_INVALID_ARGUMENT`.
   */
  clipGradNorm(grads: NamedTensorMap, maxNorm: number): number {
    return this.#training.clipNorm(grads, maxNorm);
  }

  /**
   * Clips every element to [-value, value]. Changes the record. Tensors that are replaced in it are disposed.
   *
   * @throws AccError `ACC_INVALID_ARGUMENT`.
   */
  clipGradValue(grads: NamedTensorMap, value: number): void {
    this.#parts.pipeline.clipping.clipValue(grads, value);
  }

  /**
   * The same step, faster. Its native calls are recorded, and then repeated in C++ without JavaScript kernels and tape for
   * arguments of the same shapes, dtypes and plain values. Optimizers, reductions over ranks and plugins run as they do
   * without it.
   *
   * The step works on its arguments (tensors, plain values, arrays and records of them) and on variables. Everything else
   * that it reads must not change. It runs in a `tf.tidy`; the caller owns what it returns. Other JavaScript in it runs in
   * the first few calls only. A step that cannot be recorded runs plainly; `reason` of the result and one warning say why.
   *
   * @throws AccError `ACC_COMPILE_ASYNC`, `ACC_COMPILE_CHANGED`, and the step's own errors, when called.
   */
  compile<Args extends unknown[], R>(step: (...args: Args) => R): CompiledStep<Args, R> {
    return this.#training.compile(step);
  }

  /**
   * Runs `fn` in the mixed precision of the Accelerator, or with `enabled: false` in float32, also within a training step.
   * Without `mixedPrecision` it only runs `fn`. Returns the result of `fn`, in float32.
   */
  autocast<T>(fn: () => T, options?: AutocastOptions): T {
    return this.#training.autocast(fn, options);
  }

  /**
   * Runs `fn`, in which ranks may take different numbers of steps. A rank whose `fn` has ended takes part, without gradients,
   * in the collectives that the others still call. Their gradients are the mean over the ranks that still have data. At the
   * end every rank has the weights and the optimizer state of a rank that took the most steps.
   *
   * Within `fn` each collective costs one more round. `evenBatches: false` lets prepared data end where it ends on each rank.
   *
   * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_JOIN_COLLECTIVE`, `ACC_DETERMINISTIC_UNSUPPORTED`, and the errors of `fn`.
   */
  async joinUnevenInputs<T>(fn: () => T | Promise<T>, options: JoinUnevenInputsOptions = {}): Promise<T> {
    requireFunction('joinUnevenInputs', fn);
    this.#parts.lifetime.requireRunning('joinUnevenInputs');
    return joinUnevenInputs(fn, options, this.#parts);
  }

  /**
   * Rows of this rank in a full batch of `batchSize` rows, as data or `fit` is given it: its share with `splitBatches`, else all
   * of them. Use it for constants that are made outside of the step.
   *
   * @throws AccError `ACC_INVALID_ARGUMENT`.
   */
  localBatchSize(batchSize: number): number {
    return this.#parts.data.localBatchSize(batchSize);
  }

  /**
   * Prepared data that leaves out the first `batches` of this rank in each epoch, counted from the epoch's start. Both share
   * the count of epochs. After {@link loadState} it is not needed.
   *
   * @throws AccError `ACC_INVALID_ARGUMENT`, `ACC_INVALID_OPTION`.
   */
  skipFirstBatches<T extends object>(data: T, batches: number): T {
    return this.#parts.data.skipFirst(data, batches) as T;
  }

  // Collectives. Every rank calls them in the same order.

  /**
   * Every rank's tensors joined along dim 0, in the order of ranks. Scalars become `[numProcesses]`. This and the other
   * collectives match tensors in records by their keys.
   *
   * @throws AccError `ACC_NOT_A_TENSOR`, `ACC_COLLECTIVE_MISMATCH`.
   */
  gather<T extends Nested>(values: T): T {
    return this.#collectives.gather(values);
  }

  /**
   * As {@link gather}, without the rows that only filled the last step of prepared data. It takes other values, too: an array
   * without tensors, or a typed array, is a list of rows. Of any other value each rank gives one item of a list.
   *
   * @throws AccError `ACC_COLLECTIVE_MISMATCH`, `ACC_OBJECT_NOT_SERIALIZABLE`.
   */
  gatherForMetrics<T>(values: T): Gathered<T> {
    return this.#collectives.gatherForMetrics(values);
  }

  /** The ranks' arrays joined, in the order of ranks. */
  gatherObject<T>(values: readonly T[]): T[] {
    return this.#collectives.gatherObject(values);
  }

  /** The element-by-element `op` over ranks, times `scale`. */
  reduce<T extends Nested>(values: T, op: ReduceOp = 'sum', scale = 1): T {
    return this.#collectives.reduce(values, op, scale);
  }

  /** The tensors of `fromProcess` on every rank. Shapes and dtypes are the same on all ranks. */
  broadcast<T extends Nested>(values: T, fromProcess = 0): T {
    return this.#collectives.broadcast(values, fromProcess);
  }

  /** The object of `fromProcess` on every rank. */
  broadcastObject<T>(object: T, fromProcess = 0): T {
    return this.#collectives.broadcastObject(object, fromProcess);
  }

  /**
   * Tensors padded in one dimension to the largest size that any rank has, so that they can be gathered or reduced. A tensor
   * without that dimension is returned unchanged. Caller disposes.
   *
   * @param options `dim`, default 0; `padIndex`, the value to pad with, default 0; `padFirst`, to pad in front.
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
   * Saves the whole run: weights, optimizers, schedules, loss scale, an unfinished window of accumulation, random states, the
   * position in prepared data and in `fit`, plugins, and the objects of {@link registerForCheckpointing}. Every rank calls it,
   * between steps, and writes its share. The checkpoint is complete or it is not there.
   *
   * @param path A folder, or keys in `checkpoint.storage`; replaced if it exists. Default: a new name in `checkpoint.dir`.
   * @returns Where it is; undefined where it failed and `checkpoint.onError` is `warn`.
   * @throws AccError `ACC_CHECKPOINT_SAVE_FAILED` on all ranks, also for an async save before this one; `ACC_STATE_INVALID`,
   * `ACC_UNKNOWN_OPTION`.
   */
  saveState(path?: string, options: SaveStateOptions = {}): Promise<string | undefined> {
    return this.#run.saveState(path, options);
  }

  /**
   * Goes on from a checkpoint, whatever the number of ranks that made it. Call it after `prepare` and
   * `registerForCheckpointing`, with the same objects in the same order as when it was saved. Prepared data and `fit` then go on
   * where they were. All of it is read and verified before anything is changed.
   *
   * @param path Where it is. `latest`, the default, is the newest complete one in `checkpoint.dir`.
   * @throws AccError `ACC_CHECKPOINT_NOT_FOUND`, `ACC_CHECKPOINT_CORRUPT`, `ACC_CHECKPOINT_MISMATCH`, `ACC_CHECKPOINT_VERSION`.
   */
  loadState(path?: string, options?: LoadStateOptions & { ifPresent?: false }): Promise<RestoredRun>;
  loadState(path: string | undefined, options: LoadStateOptions): Promise<RestoredRun | undefined>;
  loadState(path = 'latest', options: LoadStateOptions = {}): Promise<RestoredRun | undefined> {
    return this.#run.loadState(path, options);
  }

  /**
   * Adds objects with `getState()` and `setState(state)` to checkpoints. Each rank saves its own state of them.
   *
   * @throws AccError `ACC_INVALID_ARGUMENT`.
   */
  registerForCheckpointing(...objects: readonly Stateful[]): void {
    this.#run.register(objects);
  }

  /** Resolves when an async save is complete. Every rank calls it. @throws AccError `ACC_CHECKPOINT_SAVE_FAILED`. */
  waitForCheckpoint(): Promise<void> {
    return this.#parts.checkpoints.settle();
  }

  /** For loops without prepared data, between steps: where the job was asked to end, saves and exits. Prepared data calls it by itself. */
  checkPreemption(): Promise<void> {
    return this.#parts.atBoundary();
  }

  /**
   * Writes a model, or a list of variables, for programs that use it: whole weights, and the topology of a model of
   * tfjs-layers. Every rank calls it; rank 0 writes.
   *
   * @param path A folder.
   * @throws AccError `ACC_INVALID_ARGUMENT`, `ACC_INVALID_OPTION`, `ACC_UNKNOWN_OPTION`, and those of the storage.
   */
  saveModel(model: Weighted, path: string, options: WriteModelOptions = {}): Promise<void> {
    return this.#run.saveModel(model, path, options);
  }

  /**
   * Loads the weights of a model, or of a list of variables, from files: safetensors, for instance of the Hugging Face Hub,
   * tfjs's own `model.json`, or a checkpoint. `names` maps stored weights to the model's. Every rank calls it, and reads.
   *
   * @throws AccError `ACC_WEIGHTS_NOT_FOUND`, `ACC_WEIGHTS_MISMATCH`, `ACC_SAFETENSORS_INVALID`, `ACC_DTYPE_UNSUPPORTED`.
   */
  loadModel(model: Weighted, path: string, options: LoadWeightsOptions = {}): Promise<LoadedWeights> {
    return this.#run.loadModel(model, path, options);
  }

  /** The model itself: `prepare` changes how it computes, not the object. */
  unwrapModel<T extends object>(model: T): T {
    return model;
  }

  /**
   * The whole weights of a model, or of a list of variables, by their names. Where ranks hold shards, every rank calls it.
   * Caller disposes.
   */
  getStateDict(model: Weighted): NamedTensorMap {
    return this.#run.stateDict(model);
  }

  // Trackers.

  /**
   * Begins a run and starts the trackers of `logWith`. Every rank calls it. Trackers run on the main process, except those
   * that ask for all. A tracker whose server does not answer keeps trying; entries logged meanwhile are kept.
   *
   * @param config Hyperparameters.
   * @param perTracker Options of the trackers that `logWith` names, by those names.
   * @param run The run's name and tags, or the earlier run to go on with.
   * @throws AccError `ACC_NO_TRACKERS`, `ACC_TRACKER_MISSING`, `ACC_TRACKER_INVALID`, `ACC_TRACKER_START`, `ACC_TRACKER_CANNOT`,
   * `ACC_TRACKER_DUPLICATE`, `ACC_TRACKERS_RUNNING`, `ACC_RUN_MISSING`, `ACC_PROJECT_DIR`, `ACC_UNKNOWN_OPTION`,
   * `ACC_INVALID_ARGUMENT`.
   */
  initTrackers(
    project: string,
    config: RunConfig = {},
    perTracker: Readonly<Record<string, object>> = {},
    run: RunOptions = {},
  ): Promise<void> {
    const started = { project, config, perTracker, run, isMain: this.isMainProcess };
    return startTrackers(this.#parts.tracking, started, (object) => this.broadcastObject(object));
  }

  /**
   * Logs numbers to all trackers. Returns at once; trackers get the values later, in order. Scalar tensors are read, which
   * waits for the device. Any rank may call it.
   *
   * @throws AccError `ACC_TRACKERS_NOT_STARTED`, `ACC_TRACKERS_FINISHED`, `ACC_INVALID_ARGUMENT`, `ACC_UNKNOWN_OPTION`. The other
   * methods that log throw the same.
   */
  log(values: MetricValues, options?: LogOptions): void {
    this.#parts.tracking.bus.log(values, options);
  }

  /**
   * Logs images: tensors `[height, width]`, `[height, width, channels]` or `[n, height, width, channels]`, floats from 0 to 1 or
   * integers from 0 to 255; pixels as of a canvas; PNG files.
   *
   * @throws AccError also `ACC_TRACKER_CANNOT` where no tracker takes them, as the methods below do.
   */
  logImages(images: ImageInputs, options?: LogOptions): void {
    this.#parts.tracking.bus.logImages(images, options);
  }

  /** Logs the distribution of values: of tensors, such as weights or gradients, which the caller still owns, or of arrays. */
  logHistogram(values: Readonly<Record<string, HistogramInput>>, options?: HistogramOptions): void {
    this.#parts.tracking.bus.logHistogram(values, options);
  }

  /** Logs a table: columns and rows, or a list of records. */
  logTable(key: string, table: TableInput, options?: LogOptions): void {
    this.#parts.tracking.bus.logTable(key, table, options);
  }

  logText(texts: Readonly<Record<string, string>>, options?: LogOptions): void {
    this.#parts.tracking.bus.logText(texts, options);
  }

  /**
   * Logs a file or a folder, such as a model or a checkpoint. A tracker reads it when it stores it: leave it in place until then.
   *
   * @throws AccError also `ACC_ARTIFACT_MISSING`.
   */
  logArtifact(name: string, path: string, options?: ArtifactOptions): void {
    this.#parts.tracking.bus.logArtifact(name, path, options);
  }

  /**
   * A tracker of the run by its name; undefined on ranks where it does not run.
   *
   * @throws AccError `ACC_TRACKERS_NOT_STARTED`, `ACC_TRACKER_UNKNOWN`.
   */
  getTracker(name: string): Tracker | undefined {
    return this.#parts.tracking.bus.getTracker(name);
  }

  // The end.

  /**
   * Waits for every rank and for a save that is under way, and leaves the job. Then trackers get the remaining entries, and
   * the run ends with `status`. The script exits by itself afterwards. Collectives then throw `ACC_TRAINING_ENDED`. A second
   * call does nothing.
   *
   * @throws AccError `ACC_INVALID_ARGUMENT` for another status, and those of an async save.
   */
  async endTraining(status: RunStatus = 'completed'): Promise<void> {
    requireRunStatus('endTraining', status);
    const { collective, lifetime, tracking } = this.#parts;
    if (lifetime.hasEnded) return;
    await this.waitForCheckpoint();
    collective.barrier();
    this.freeMemory();
    collective.close();
    lifetime.end();
    await tracking.bus.finish(status);
  }

  /**
   * Gives prepared objects and tfjs their own methods back. Another Accelerator may be created afterwards. This one still
   * knows its rank, gathers and logs, and can end the training. Its methods that train or save a run throw
   * `ACC_ACCELERATOR_FREED`.
   *
   * @param objects Are disposed then: models, optimizers, tensors and variables, arrays and records of such.
   */
  freeMemory(...objects: readonly object[]): void {
    if (this.#parts.lifetime.isRunning) {
      release(this.#parts, this.#running, this.#training);
    }
    objects.forEach(disposeAll);
  }

  [Symbol.dispose](): void {
    this.freeMemory();
  }
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
