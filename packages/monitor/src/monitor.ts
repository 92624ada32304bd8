import { LiveDiagnosis } from '#platform/recorder';
import { GpuClock, StallWatch, SystemClock } from '#platform/watches';
import { keep, type NamedTensorMap, type Optimizer, type Tensor } from '@tensorflow/tfjs-core';
import type { LossInfo, PassInfo, Plugin, StepInfo, StrategyContext } from '@acc/contract';
import { LossWatch, SlowRankWatch, stallAlert, type Alert } from './alerts.js';
import { exchange, type Figures } from './exchange.js';
import { metricsOf } from './metrics.js';
import { GradientLook } from './records/gradient-figures.js';
import type { ResolvedAutoLog } from './options.js';
import type { AskedWindow } from './records/asked-windows.js';
import { OwnWork } from './records/own-work.js';
import type { RunFacts } from './records/run-facts.js';
import { StepRecords, type EndedStep } from './records/step-records.js';
import { StepClock } from './step-clock.js';
import type { SystemFigures } from './system.js';

/** The destination of figures and alerts. */
export interface MonitorSink {
  /** Whether figures are wanted now. The same on all ranks. */
  readonly isOpen: boolean;
  /** The number of optimizer steps taken so far. The same on all ranks. */
  readonly step: number;
  /** The folder of the run. Undefined if no run is open. */
  readonly folder: string | undefined;
  /** Called on every rank with the same figures of all ranks. */
  log(metrics: Readonly<Record<string, number>>, step: number): void;
  /** Called on rank 0. */
  alert(alert: Alert): void;
  warn(message: string): void;
  /** The facts for the records of the run. */
  readonly facts: RunFacts;
  /**
   * The norm of the gradients over all variables and ranks, before clipping by norm. Returns a
   * scalar that the caller disposes.
   */
  norm(grads: NamedTensorMap): Tensor;
  /** Takes a profile of the next steps, which `acc monitor` has asked for. Called on each rank at its time. */
  watch(window: AskedWindow): void;
}

/**
 * Measures steps. At a fixed interval of steps it passes loss, rates, times and system figures to
 * `sink`, and raises alerts. It reads the clock twice for each part of a step, and calls one small
 * collective for each set of figures.
 *
 * @param size The number of ranks of the job.
 */
export function monitor(options: ResolvedAutoLog, sink: MonitorSink, size: number): Plugin {
  const measuring = new Monitor(options, sink);
  const { clock, own } = measuring;
  return {
    name: 'autoLog',
    attach: (context) => measuring.attach(context),
    forward: (compute) => own.run('forward', () => clock.forward(compute)),
    backward: (compute) => own.run('backward', () => clock.backward(compute)),
    loss: (value, info) => measuring.loss(value, info),
    // A single rank does not wait for others. Without these hooks, a recorded step stays in one
    // piece.
    ...(size > 1 && {
      ready: (grad: Tensor, pass: PassInfo) => {
        own.ready();
        measuring.ready(grad, pass);
        clock.gradient();
      },
      settle: () => {
        own.hook();
        clock.reduced();
        return true;
      },
    }),
    transform: (grads) => measuring.transform(grads),
    afterStep: (info) => measuring.afterStep(info),
    detach: () => measuring.detach(),
  };
}

type Due = Pick<EndedStep, 'metrics' | 'ownLoss'>;
const NOT_DUE: Due = { metrics: undefined, ownLoss: undefined };

class Monitor {
  readonly clock = new StepClock();
  readonly own = new OwnWork();
  readonly #options: ResolvedAutoLog;
  readonly #sink: MonitorSink;
  readonly #system = new SystemClock();
  /** Losses since the last report. `value`: of one that was read. */
  readonly #losses: { tensor: Tensor; weight: number; step: number; value?: number }[] = [];
  /** Looks at the losses of this rank. */
  readonly #lossWatch: LossWatch;
  /** Looks at the mean loss while those of this rank are finite. */
  readonly #meanWatch: LossWatch;
  readonly #slowRanks: SlowRankWatch;
  #context!: StrategyContext;
  #gpu: GpuClock | undefined;
  #stall: StallWatch | undefined;
  #records: StepRecords | undefined;
  #norm: Tensor | undefined;
  readonly #look = new GradientLook(() => this.#context);
  readonly #live: LiveDiagnosis;
  #steps = 0;
  #samples = 0;
  #countsSamples = true;
  #hasReported = false;

  constructor(options: ResolvedAutoLog, sink: MonitorSink) {
    this.#options = options;
    this.#sink = sink;
    this.#lossWatch = new LossWatch(options);
    this.#meanWatch = new LossWatch(options);
    this.#slowRanks = new SlowRankWatch(options);
    const tell = (message: string, step: number) => this.#sink.alert({ kind: 'diagnosis', message, step });
    this.#live = new LiveDiagnosis({ tell });
  }

  attach(context: StrategyContext): void {
    this.#context = context;
    const { tokensPerSample } = this.#options;
    const warn = (message: string) => this.#sink.warn(message);
    const watch = (window: AskedWindow) => this.#sink.watch(window);
    const { facts } = this.#sink;
    this.#records = new StepRecords(context, { tokensPerSample, own: this.own, facts, warn, watch });
  }

  /**
   * Keeps the loss, and reads it later together with others, because reading waits for the device.
   */
  loss(value: Tensor, { items }: LossInfo): void {
    this.own.hook();
    // The mean of an empty batch is not a number.
    if (!this.#sink.isOpen || items === 0) return;
    this.#losses.push({
      tensor: keep(value.clone()),
      weight: items,
      step: this.#sink.step + 1,
    });
  }

  ready(grad: Tensor, pass: PassInfo): void {
    if (this.#isLooking(this.#sink.step + 1)) this.#look.ready(grad, pass);
  }

  transform(grads: NamedTensorMap): void {
    this.own.hook();
    if (this.#isLooking(this.#sink.step + 1)) this.#look.gradients(grads);
    if (this.#isDue(this.#sink.step + 1)) {
      this.#norm?.dispose();
      this.#norm = keep(this.#sink.norm(grads));
    }
    this.clock.beginOptimizer();
  }

  afterStep(info: StepInfo): void {
    this.own.endStep();
    this.clock.endStep();
    if (!this.#sink.isOpen) return;
    this.#begin();
    this.#stall!.step();
    this.#steps++;
    if (info.samples === undefined) this.#countsSamples = false;
    else this.#samples += info.samples;
    const { step } = this.#sink;
    // A run may end, or go wrong, before its first report. Later, reading waits for the next one.
    if (!this.#hasReported) this.#seeLosses();
    const { last } = this.clock;
    this.#records?.endStep();
    const { metrics, ownLoss } = this.#isDue(step) ? this.#report(step, info) : NOT_DUE;
    const { samples, optimizer } = info;
    const learningRate = learningRateOf(optimizer);
    const gradients = this.#isLooking(step) ? this.#look.take(info.isShared) : undefined;
    const ended = { step, samples, metrics, ownLoss, learningRate, gradients };
    this.#records?.step(this.#sink.folder, last, ended);
  }

  /** Stops the thread and the process that run beside the training. */
  detach(): void {
    try {
      this.#seeLosses();
      const message = this.#lossWatch.atEnd() ?? this.#meanWatch.atEnd();
      if (message) this.#sink.warn(`acc: ${message}`);
    } finally {
      this.#gpu?.close();
      this.#stall?.close();
      this.#records?.close();
      this.#norm?.dispose();
      this.#look.dispose();
      this.#norm = undefined;
      for (const { tensor } of this.#losses.splice(0)) tensor.dispose();
    }
  }

  /** Starts the watches with the first step of a run. Before that no figures are wanted. */
  #begin(): void {
    if (this.#stall) return;
    const { collective, kernels } = this.#context;
    this.#stall = new StallWatch({ stallMs: this.#options.stallMs, rank: collective.rank });
    const hasGpu = this.#options.system && kernels.device.startsWith('cuda');
    if (hasGpu) this.#gpu = new GpuClock(kernels.device, (message) => this.#sink.warn(message));
  }

  #isDue(step: number): boolean {
    return this.#sink.isOpen && step % this.#options.every === 0;
  }

  #isLooking(step: number): boolean {
    return this.#sink.isOpen && GradientLook.isDue(step, this.#options.every);
  }

  #report(step: number, { optimizer, isShared }: StepInfo): Due {
    const { collective } = this.#context;
    const system = this.#options.system ? this.#system.take() : undefined;
    this.#hasReported = true;
    this.#seeLosses();
    const losses = this.#takeLosses();
    const { longestMs } = this.clock;
    const own = this.#figures(losses, longestMs, system);
    const ranks = isShared ? exchange(own, collective) : [own];
    const metrics = metricsOf(ranks, {
      learningRate: learningRateOf(optimizer),
      gradientNorm: this.#norm?.dataSync()[0],
      samples: this.#countsSamples ? this.#samples / this.#steps : undefined,
      tokensPerSample: this.#options.tokensPerSample,
      system,
    });
    this.#steps = this.#samples = 0;
    this.#countsSamples = true;
    this.#sink.log(metrics, step);
    const due = { metrics, ownLoss: own.lossSum / own.lossWeight };
    if (collective.rank > 0) return due;
    if (Number.isFinite(own.lossSum)) this.#seeMean(metrics['train/loss'], step);
    this.#alert(ranks, step);
    void this.#live.step(this.#sink.folder, step);
    return due;
  }

  /** On rank 0, raises the alerts of losses that were not seen yet. */
  #seeLosses(): void {
    if (this.#context.collective.rank > 0 || !this.#sink.isOpen) return;
    for (const loss of this.#losses) {
      if (loss.value !== undefined || loss.tensor.isDisposed) continue;
      loss.value = loss.tensor.dataSync()[0]!;
      const alert = this.#lossWatch.look(loss.value, loss.step);
      if (alert) this.#sink.alert(alert);
    }
  }

  /** Raises an alert if the loss of another rank is not finite. */
  #seeMean(loss: number | undefined, step: number): void {
    const alert = loss === undefined ? undefined : this.#meanWatch.look(loss, step);
    if (alert?.kind === 'loss-not-finite') this.#sink.alert(alert);
  }

  #takeLosses(): { value: number; weight: number }[] {
    return this.#losses.splice(0).map(({ tensor, weight, value = tensor.dataSync()[0]! }) => {
      tensor.dispose();
      return { value, weight };
    });
  }

  #figures(
    losses: readonly { value: number; weight: number }[],
    longestMs: number,
    system: SystemFigures | undefined,
  ): Figures {
    const times = this.clock.take();
    const gpu = this.#gpu?.latest;
    return {
      rank: this.#context.collective.rank,
      lossSum: losses.reduce((sum, { value, weight }) => sum + value * weight, 0),
      lossWeight: losses.reduce((sum, { weight }) => sum + weight, 0),
      step: times?.step ?? NaN,
      data: times?.data ?? NaN,
      forward: times?.forward ?? NaN,
      backward: times?.backward ?? NaN,
      communication: times?.communication ?? NaN,
      optimizer: times?.optimizer ?? NaN,
      longest: longestMs,
      processCpuPercent: system?.processCpuPercent ?? NaN,
      processMemoryMib: system?.processMemoryMib ?? NaN,
      gpuPercent: gpu?.percent ?? NaN,
      gpuMemoryMib: gpu?.memoryMib ?? NaN,
    };
  }

  #alert(ranks: readonly Figures[], step: number): void {
    const busyMs = new Map(
      ranks.map(({ rank, step: stepMs, communication }) => [rank, stepMs - communication]),
    );
    const found: Alert[] = this.#slowRanks.look(busyMs, step);
    const longestMs = Math.max(...ranks.map(({ longest }) => longest));
    if (longestMs > this.#options.stallMs) found.push(stallAlert(longestMs, busyMs, step));
    for (const alert of found) this.#sink.alert(alert);
  }
}

/** The field is protected in TypeScript. */
function learningRateOf(optimizer: Optimizer): number | undefined {
  const { learningRate } = optimizer as { learningRate?: unknown };
  return typeof learningRate === 'number' ? learningRate : undefined;
}
