import {
  dispose,
  mul,
  tidy,
  variableGrads,
  type NamedTensorMap,
  type Scalar,
  type Tensor,
  type TensorContainer,
  type Variable,
} from '@tensorflow/tfjs-core';
import {
  AccError,
  checkKeys,
  type AutocastOptions,
  type Collective,
  type ReduceOp,
  type RunStatus,
} from '@acc/contract';
import { assemble, type Parts } from './assemble.js';
import { compileStep, type CompiledStep } from './compile/compile.js';
import { readLaunchEnvironment } from './environment.js';
import { joinUnevenInputs, type JoinUnevenInputsOptions } from './join/join-uneven-inputs.js';
import { Joinable } from './join/joinable.js';
import { offerLocalTraining } from './local-steps/local-training.js';
import { AcrossRanks } from './nested/across-ranks.js';
import type { Gathered } from './nested/gather-real.js';
import type { Nested } from './nested/nested.js';
import { padAcross, requirePadOptions, type PadOptions } from './nested/pad-across.js';
import { resolveOptions, type AcceleratorOptions } from './options.js';
import type { PreparedAll } from './prepare/prepared-types.js';
import { collectiveOf } from './presets/collective.js';
import { kernelsOf } from './presets/kernels.js';
import { determinismOf } from './presets/strategy.js';
import { uninstallRandom } from './random/math-random.js';
import { requireFunction, requireRunStatus } from './require-arguments.js';
import { setRunning, whatRuns, type Running } from './running.js';
import { StatefulProcess } from './state/stateful-process.js';
import type { AccumulateOptions } from './step/step-pipeline.js';

/**
 * Trains an existing tfjs loop on every process of a job. Started by `acc launch`, or any launcher that sets torchrun's
 * variables, it joins the others; started alone it is one process without a network.
 *
 * Results of collectives are the caller's to dispose, or its tidy's.
 */
export class Accelerator extends StatefulProcess {
  readonly #parts: Parts;
  readonly #compiled: CompiledStep<never[], unknown>[] = [];
  readonly #across: AcrossRanks;

  readonly #running: Running;

  private constructor(parts: Parts) {
    if (!(parts as Partial<Parts> | undefined)?.lifetime) throw notConstructed();
    super(parts.environment, parts.tracking, parts);
    this.#parts = parts;
    const { pipeline, kernels, collective } = parts;
    this.#across = new AcrossRanks(kernels);
    this.#running = { pipeline, kernels, collective, freeMemory: () => this.freeMemory() };
    setRunning(this.#running);
    offerLocalTraining(this, parts);
  }

  /**
   * Chooses the engine and joins the process group.
   *
   * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_ENVIRONMENT`, `ACC_LIBTORCH_MISSING`,
   * `ACC_PORT_TAKEN`, `ACC_RENDEZVOUS_FAILED`, `ACC_OPTIONS_DIFFER`; `ACC_ALREADY_CREATED` before the last one's `freeMemory`,
   * `ACC_GROUP_JOINED` for another group than the process is in,
   * `ACC_TRAINING_ENDED` after `endTraining` of several processes; `ACC_DETERMINISTIC_BACKEND`, `ACC_DETERMINISTIC_UNSUPPORTED`.
   */
  static async create(options: AcceleratorOptions = {}): Promise<Accelerator> {
    if (whatRuns()) {
      throw new AccError('ACC_ALREADY_CREATED', 'This process has an Accelerator already.', {
        help: 'Use that one, or call its freeMemory() before another is created.',
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

  /** Where tensors of the active backend live: `cpu`, `cuda:0`. */
  get device(): string {
    return this.#parts.kernels.device;
  }

  /** tfjs's name of the backend that computes now: `tf.setBackend` may change it at any time. */
  get backendName(): string {
    return this.#parts.kernels.backendName;
  }

  /**
   * Whether the micro-batch that runs, or ran last, closes its window: gradients are synchronised, and the optimizer steps.
   * False inside {@link noSync}.
   */
  get syncGradients(): boolean {
    return this.#parts.pipeline.syncsGradients;
  }

  /** Micro-batches to a step of the optimizer. */
  get gradientAccumulationSteps(): number {
    return this.#parts.pipeline.accumulation.steps;
  }

  /** Whether the last step was skipped, on all ranks, because its gradients were not usable. */
  get optimizerStepWasSkipped(): boolean {
    return this.#parts.pipeline.wasSkipped;
  }

  /**
   * The norm that the gradients had before they were last clipped by it, over all ranks; undefined before that. Reading it
   * waits for the device.
   */
  get gradientNorm(): number | undefined {
    return this.#parts.pipeline.clipping.lastNorm;
  }

  /**
   * Prepares objects in place and gives them back in the same order; of one object that object. Data is wrapped. Every
   * rank calls it alike; ranks start from rank 0's weights.
   *
   * @throws AccError `ACC_CANNOT_PREPARE`, `ACC_MODEL_NOT_BUILT`, `ACC_VARIABLES_DIFFER`.
   */
  prepare<T extends readonly unknown[]>(...objects: T): PreparedAll<T> {
    const { preparation } = this.#partsFor('prepare');
    const prepared = objects.map((object) => preparation.prepare(object));
    return (prepared.length === 1 ? prepared[0] : prepared) as PreparedAll<T>;
  }

  /**
   * Runs one micro-batch and returns what `fn` returns; of a promise, await it before the next. Gradients of prepared
   * variables that are computed in it are held, and prepared optimizers take no step, until the micro-batch that closes the
   * window: the `gradientAccumulationSteps`-th, the last of prepared data, or one for which `last` is true. That one applies
   * the mean over all samples of the window on all ranks. Inside a window, gradients that the loop gets are its own rank's.
   *
   * @param options `last`: whether the micro-batch closes its window early; given, it overrules the end of prepared data.
   * @throws AccError `ACC_ACCUMULATE_NESTED`, `ACC_NOT_PREPARED`.
   */
  accumulate<T>(fn: () => T, options: AccumulateOptions = {}): T {
    checkKeys('accumulate', options, ['last']);
    return this.#partsToRun('accumulate', fn).pipeline.microBatch(fn, { isLast: options.last });
  }

  /** Runs `fn`, to the end of its promise where it returns one. Gradients computed in it are this rank's own, and stay so. */
  noSync<T>(fn: () => T): T {
    return this.#partsToRun('noSync', fn).pipeline.locally(fn);
  }

  /**
   * Says inside a loss function that `loss`, this rank's mean, is one over `count` items, tokens say, and returns it. Its gradient
   * then counts as much: over all micro-batches of a window and all ranks it is the mean over items. Ranks do so alike.
   *
   * @param count May differ between ranks and be 0; a scalar tensor is read from the device.
   * @throws AccError `ACC_INVALID_ARGUMENT`, `ACC_DETERMINISTIC_UNSUPPORTED`.
   */
  weighLoss<T extends Tensor>(loss: T, count: number | Tensor): T {
    const { pipeline } = this.#partsFor('weighLoss');
    pipeline.requireSeveralWays('weighLoss');
    return pipeline.lossItems.say(loss, count);
  }

  /**
   * As `tf.variableGrads`, ready for `applyGradients`: synchronised, and clipped as the options say. Variables that are not prepared
   * yet are prepared first, as by a prepared optimizer's `minimize`. Inside a window gradients are this rank's own of the
   * micro-batch. Caller disposes.
   */
  backward(loss: () => Scalar, varList?: Variable[]): { value: Scalar; grads: NamedTensorMap } {
    const { pipeline, preparation } = this.#partsToRun('backward', loss);
    preparation.adoption.adopt(this, varList);
    const result = pipeline.trained.seekingCandidates(() => variableGrads(loss, varList));
    if (!pipeline.accumulation.isHolding) pipeline.clipping.clip(result.grads);
    return result;
  }

  /**
   * Clips gradients by their norm over all variables, and over ranks where each has a part. Changes the record; tensors that
   * are replaced in it are disposed. Returns the norm before, which waits for the device; the option `gradientClipping` doesn't.
   *
   * @throws AccError `ACC_INVALID_ARGUMENT`.
   */
  clipGradNorm(grads: NamedTensorMap, maxNorm: number): number {
    const { clipping } = this.#parts.pipeline;
    clipping.clipNorm(grads, maxNorm);
    return clipping.lastNorm!;
  }

  /**
   * Clips every element to [-value, value]. Changes the record; tensors that are replaced in it are disposed.
   *
   * @throws AccError `ACC_INVALID_ARGUMENT`.
   */
  clipGradValue(grads: NamedTensorMap, value: number): void {
    this.#parts.pipeline.clipping.clipValue(grads, value);
  }

  /**
   * The same step, faster: its native calls are recorded and then repeated in C++, without JavaScript kernels and tape, for
   * arguments of the same shapes, dtypes and plain values. Optimizers, reductions over ranks and plugins run as ever.
   *
   * The step works on its arguments (tensors, plain values, arrays and records of them) and on variables; what else it
   * knows must not change. It runs in a `tf.tidy`: what it returns is the caller's. Other JavaScript in it runs in the first
   * few calls only. A step that cannot be recorded runs plainly; `reason` of the result says why, and a warning once.
   *
   * @throws AccError `ACC_COMPILE_ASYNC`, `ACC_COMPILE_CHANGED`, and what the step throws, when called.
   */
  compile<Args extends unknown[], R>(step: (...args: Args) => R): CompiledStep<Args, R> {
    const { kernels, pipeline } = this.#partsToRun('compile', step);
    const compiled = compileStep(step, {
      kernels,
      surroundings: () => pipeline.surroundings,
      obstacle: () => pipeline.obstacle,
    });
    this.#compiled.push(compiled as unknown as CompiledStep<never[], unknown>);
    return compiled;
  }

  /**
   * Runs `fn` in the mixed precision of the Accelerator, or with `enabled: false` in float32, also within a training step.
   * Without `mixedPrecision` it only runs `fn`. Returns what `fn` returns, in float32.
   */
  autocast<T>(fn: () => T, options?: AutocastOptions): T {
    const { precision } = this.#partsToRun('autocast', fn);
    return precision ? precision.autocast(fn, options) : fn();
  }

  /**
   * Runs `fn`, in which ranks may take different numbers of steps. A rank whose `fn` has ended takes part in what the others
   * still call, without gradients: theirs are the mean over the ranks that still have data. In the end every rank has the
   * weights and the optimizer state of one that took the most steps.
   *
   * Within `fn` each collective costs a round more. `evenBatches: false` lets prepared data end where it ends on each rank.
   *
   * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_JOIN_COLLECTIVE`, `ACC_DETERMINISTIC_UNSUPPORTED`, and what `fn` throws.
   */
  async joinUnevenInputs<T>(fn: () => T | Promise<T>, options: JoinUnevenInputsOptions = {}): Promise<T> {
    return joinUnevenInputs(fn, options, this.#partsToRun('joinUnevenInputs', fn));
  }

  /**
   * Every rank's tensors joined along dim 0, in the order of ranks; scalars become `[numProcesses]`. Here and in the other
   * collectives, tensors in records are matched by their keys.
   *
   * @throws AccError `ACC_NOT_A_TENSOR`, `ACC_COLLECTIVE_MISMATCH`.
   */
  gather<T extends Nested>(values: T): T {
    const collective = this.#collectiveFor('gather');
    return this.#across.map('gather', values, collective, (x) => collective.allGather(x));
  }

  /**
   * As {@link gather}, without the rows that only filled the last step of prepared data, and for other values, too: an array
   * without tensors in it, or a typed array, is a list of rows; of any other value each rank gives one item of a list.
   *
   * @throws AccError `ACC_COLLECTIVE_MISMATCH`, `ACC_OBJECT_NOT_SERIALIZABLE`.
   */
  gatherForMetrics<T>(values: T): Gathered<T> {
    this.#collectiveFor('gatherForMetrics');
    const { mesh, pipeline } = this.#parts;
    return this.#across.gatherForMetrics(values, mesh.dataRanks, pipeline.batch);
  }

  /** The ranks' arrays joined, in the order of ranks. */
  gatherObject<T>(values: readonly T[]): T[] {
    return this.#collectiveFor('gatherObject').allGatherObject(values).flat();
  }

  /** Element by element over ranks, times `scale`. */
  reduce<T extends Nested>(values: T, op: ReduceOp = 'sum', scale = 1): T {
    const collective = this.#collectiveFor('reduce');
    return this.#across.map('reduce', values, collective, (x) => {
      const reduced = () => collective.allReduce(x, op);
      return scale === 1 ? reduced() : tidy(() => mul(reduced(), scale));
    });
  }

  /** The tensors of `fromProcess` on every rank; shapes and dtypes are the same everywhere. */
  broadcast<T extends Nested>(values: T, fromProcess = 0): T {
    const collective = this.#collectiveFor('broadcast');
    return this.#across.map('broadcast', values, collective, (x) => collective.broadcast(x, fromProcess));
  }

  /**
   * Tensors filled up in one dimension to the largest size that any rank has, so that they can be gathered or reduced. Those without
   * that dimension come as they are. Caller disposes.
   *
   * @param options `dim`, default 0; `padIndex`, the value to fill with, default 0; `padFirst`, to fill before what there is.
   * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
   */
  padAcrossProcesses<T extends Nested>(values: T, options: PadOptions = {}): T {
    requirePadOptions(options);
    const collective = this.#collectiveFor('padAcrossProcesses');
    const pad = (x: Tensor) => padAcross(x, options, collective);
    return this.#across.map('padAcrossProcesses', values, collective, pad);
  }

  /** The object of `fromProcess` on every rank. */
  broadcastObject<T>(object: T, fromProcess = 0): T {
    return this.#collectiveFor('broadcastObject').broadcastObject(object, fromProcess);
  }

  /** Returns when every rank has called it. */
  waitForEveryone(): void {
    this.#collectiveFor('waitForEveryone').barrier();
  }

  /**
   * Waits for every rank, and for a save that goes on, and leaves the job; then trackers get what is left for them, and the run
   * ends with `status`. The script exits by itself afterwards. What ranks do together is then `ACC_TRAINING_ENDED`; a second call
   * does nothing.
   *
   * @throws AccError `ACC_INVALID_ARGUMENT` for another status, and those of an async save.
   */
  async endTraining(status: RunStatus = 'completed'): Promise<void> {
    requireRunStatus('endTraining', status);
    const { collective, lifetime } = this.#parts;
    if (lifetime.hasEnded) return;
    await this.waitForCheckpoint();
    collective.barrier();
    this.freeMemory();
    collective.close();
    lifetime.end();
    await this.finishTrackers(status);
  }

  /**
   * Gives prepared objects and tfjs their own methods back. Another Accelerator may be created afterwards. This one still knows
   * its rank, gathers and logs, and can end the training; what trains or saves a run is `ACC_ACCELERATOR_FREED`.
   *
   * @param objects Are disposed then: models, optimizers, tensors and variables, arrays and records of such.
   */
  freeMemory(...objects: readonly object[]): void {
    this.#free();
    for (const object of objects) disposeAll(object);
  }

  #free(): void {
    const { lifetime } = this.#parts;
    if (!lifetime.isRunning) return;
    lifetime.free();
    if (whatRuns() === this.#running) setRunning(undefined);
    this.#parts.stopListening();
    uninstallRandom();
    for (const step of this.#compiled.splice(0)) step.dispose();
    this.#parts.preparation.undoAll();
    this.#parts.strategy.detach?.();
    this.#parts.restoreGradients();
    this.#parts.pipeline.dispose();
    this.#parts.determinism?.end();
  }

  /** @throws AccError once it is freed. */
  #partsFor(method: string): Parts {
    this.#parts.lifetime.requireRunning(method);
    return this.#parts;
  }

  /** @throws AccError also for what is no function. */
  #partsToRun(method: string, fn: unknown): Parts {
    requireFunction(method, fn);
    return this.#partsFor(method);
  }

  /** @throws AccError once training has ended. */
  #collectiveFor(method: string): Collective {
    this.#parts.lifetime.requireJob(method);
    return this.#parts.collective;
  }

  [Symbol.dispose](): void {
    this.freeMemory();
  }
}

function disposeAll(object: object): void {
  if ('dispose' in object && typeof object.dispose === 'function') object.dispose();
  else dispose(object as TensorContainer);
}

function notConstructed(): AccError {
  return new AccError(
    'ACC_NOT_CREATED',
    'An Accelerator is not made by `new`: it has to join its job first.',
    {
      help: 'Write `const accelerator = await Accelerator.create({ … })`, with the same options.',
    },
  );
}
