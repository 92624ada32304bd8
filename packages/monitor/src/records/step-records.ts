import { Recorder } from '#platform/recorder';
import type { StrategyContext } from '@acc/contract';
import type { LastStep } from '../step-clock.js';

/** Information about a step that has just ended. */
export interface EndedStep {
  readonly step: number;
  /** Of all ranks. */
  readonly samples: number | undefined;
  /** Undefined if no figures are due in this step. */
  readonly metrics: Readonly<Record<string, number>> | undefined;
}

/** Records the steps of a run, in the folder `insight` of the run. */
export class StepRecords {
  #recorder: Recorder | undefined;
  #folder: string | undefined;
  #bytesSent = 0;
  #bytesOfStep = 0;

  constructor(
    private readonly context: Pick<StrategyContext, 'collective' | 'kernels'>,
    private readonly tokensPerSample: number | undefined,
  ) {}

  /** Ends the figures of a step, before others are exchanged. */
  endStep(): void {
    const { bytes = 0 } = this.context.collective.traffic ?? {};
    this.#bytesOfStep = bytes - this.#bytesSent;
    this.#bytesSent = bytes;
    this.#recorder?.endStep();
  }

  /**
   * @param folder The folder of the run. With another one, other files begin.
   * @param times Undefined for the first step, which has no begin.
   */
  step(folder: string | undefined, times: LastStep | undefined, ended: EndedStep): void {
    if (folder !== this.#folder) this.#begin(folder);
    if (!this.#recorder || !times) return;
    const { step, samples = NaN, metrics } = ended;
    const { communication, ...parts } = times;
    const about = { step, samples, tokens: samples * (this.tokensPerSample ?? NaN) };
    const bytesSent = this.#bytesOfStep;
    const learning = { loss: metrics?.['train/loss'] ?? NaN, gradNorm: metrics?.['train/grad_norm'] ?? NaN };
    this.#recorder.step(
      { ...parts, exposed: communication, bytesSent, ...about, ...learning },
      metrics !== undefined,
    );
  }

  close(): void {
    this.#recorder?.close();
    this.#recorder = undefined;
  }

  #begin(folder: string | undefined): void {
    this.close();
    this.#folder = folder;
    const { collective, kernels } = this.context;
    const hasNative = kernels.recorder !== undefined;
    if (folder !== undefined)
      this.#recorder = new Recorder({ folder: `${folder}/insight`, rank: collective.rank, hasNative });
  }
}
