import { Recorder } from '#platform/recorder';
import type { Collective, StrategyContext } from '@acc/contract';
import { engineInternals } from '@acc/tfjs-internals';
import type { RunFacts } from './run-facts.js';
import type { LastStep } from '../step-clock.js';
import { NO_GRADIENT_FIGURES, type GradientFigures } from './gradient-figures.js';
import type { OwnWork } from './own-work.js';
import type { AskedWindow } from './asked-windows.js';
import type { StepFigures } from './recorder.js';

/** Information about a step that has just ended. */
export interface EndedStep {
  readonly step: number;
  /** Of all ranks. */
  readonly samples: number | undefined;
  /** Undefined if no figures are due in this step. */
  readonly metrics: Readonly<Record<string, number>> | undefined;
  /** The mean loss of this rank since the last figures. Undefined if there was none. */
  readonly ownLoss: number | undefined;
  /** Undefined if the optimizer has none that is a number. */
  readonly learningRate: number | undefined;
  /** Undefined in steps whose single gradients were not looked at. */
  readonly gradients: GradientFigures | undefined;
}

/** Records the steps of a run, in the folder `insight` of the run. */
export class StepRecords {
  #recorder: Recorder | undefined;
  #folder: string | undefined;
  #groups: ReadonlySet<Collective> = new Set();
  #bytesSent = 0;
  #bytesOfStep = 0;

  constructor(
    private readonly context: Pick<StrategyContext, 'collective' | 'kernels' | 'mesh'>,
    private readonly given: {
      readonly tokensPerSample: number | undefined;
      readonly own: OwnWork;
      readonly facts: RunFacts;
      readonly warn: (message: string) => void;
      /** Takes a profile of the next steps. */
      readonly watch: (window: AskedWindow) => void;
    },
  ) {}

  /** Ends the figures of a step, before others are exchanged. */
  endStep(): void {
    if (!this.#recorder) return;
    const bytes = this.#countBytes();
    this.#bytesOfStep = bytes - this.#bytesSent;
    this.#bytesSent = bytes;
    this.#recorder.endStep(this.context.kernels.recorder?.isRecording);
  }

  /**
   * @param folder The folder of the run. With another one, other files begin.
   * @param times Undefined for the first step, which has no begin.
   */
  step(folder: string | undefined, times: LastStep | undefined, ended: EndedStep): void {
    if (folder !== this.#folder) this.#begin(folder);
    if (!this.#recorder || !times) return;
    const { step, samples = NaN, metrics, ownLoss = NaN, learningRate = NaN } = ended;
    const { gradients = NO_GRADIENT_FIGURES } = ended;
    const { communication, ...parts } = times;
    const about = { step, samples, tokens: samples * (this.given.tokensPerSample ?? NaN) };
    const bytesSent = this.#bytesOfStep;
    const learning = {
      ...learningOf(metrics),
      ownLoss,
      learningRate,
      tensors: engineInternals().state.numTensors,
    };
    this.#recorder.step(
      { ...parts, exposed: communication, bytesSent, ...about, ...learning, ...gradients },
      metrics !== undefined,
    );
    const window = this.#recorder.windows.take(step);
    if (window) this.given.watch(window);
  }

  close(): void {
    this.#recorder?.close();
    this.#recorder = undefined;
  }

  #begin(folder: string | undefined): void {
    this.close();
    this.#folder = folder;
    if (folder === undefined) return;
    const { collective, kernels, mesh } = this.context;
    const { own, facts: run, warn } = this.given;
    this.#groups = new Set([
      collective,
      ...mesh.axes.map((axis) => mesh.along(axis)),
      ...[mesh.dataRanks, mesh.gradientRanks],
    ]);
    this.#bytesSent = this.#countBytes();
    // Those of earlier steps are in no row.
    own.takePasses();
    const hasNative = kernels.recorder !== undefined;
    const { rank, size: ranks } = collective;
    const { backendName: backend, device } = kernels;
    const about = { folder: `${folder}/insight`, rank, hasNative };
    this.#recorder = new Recorder({ ...about, own, warn, facts: { ...run, rank, ranks, backend, device } });
  }

  #countBytes(): number {
    return [...this.#groups].reduce((sum, { traffic }) => sum + (traffic?.bytes ?? 0), 0);
  }
}

/** NaN stands for an unknown figure, so a column of its own says which figures are not finite. */
function learningOf(metrics: EndedStep['metrics']): Pick<StepFigures, 'loss' | 'gradNorm' | 'nonFinite'> {
  const { 'train/loss': loss = NaN, 'train/grad_norm': gradNorm = NaN } = metrics ?? {};
  if (!metrics) return { loss, gradNorm, nonFinite: NaN };
  const known = ['train/loss', 'train/grad_norm'].filter((name) => name in metrics);
  return { loss, gradNorm, nonFinite: known.some((name) => !Number.isFinite(metrics[name])) ? 1 : 0 };
}
