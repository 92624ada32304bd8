import { medianLow } from '@acc/contract';

/** A problem in a training that the user should look at. */
export interface Alert {
  readonly kind: 'loss-not-finite' | 'loss-spike' | 'slow-rank' | 'stall' | 'diagnosis';
  /** A message for the user: what happened, where, and what to do. */
  readonly message: string;
  /** The number of optimizer steps taken so far. */
  readonly step: number;
  /** The rank that the alert is about. Undefined if it is about all ranks. */
  readonly rank?: number;
}

export interface AlertOptions {
  readonly spikeDeviations: number;
  readonly slowFactor: number;
}

/** The number of losses before one can count as a spike. */
const WARM_UP = 30;
/** The weight of the newest loss in the moving mean and variance. */
const NEWEST = 0.05;
/** The number of consecutive sets of figures in which a rank must be slow before an alert. */
const SLOW_IN_A_ROW = 3;

/** Checks losses one after another. */
export class LossWatch {
  readonly #deviations: number;
  #seen = 0;
  #mean = 0;
  #variance = 0;
  /** The first of the last losses, which are not finite. */
  #notFiniteFrom: { readonly loss: number; readonly step: number } | undefined;

  constructor({ spikeDeviations }: AlertOptions) {
    this.#deviations = spikeDeviations;
  }

  /** @param step The number of optimizer steps up to and including that of the loss. */
  look(loss: number, step: number): Alert | undefined {
    if (!Number.isFinite(loss)) return this.#notFinite(loss, step);
    this.#notFiniteFrom = undefined;
    const limit = this.#mean + this.#deviations * Math.sqrt(this.#variance);
    const isSpike = this.#seen >= WARM_UP && loss > limit && loss > this.#mean + 1e-3 * Math.abs(this.#mean);
    const before = this.#mean;
    this.#learn(isSpike ? limit : loss);
    if (!isSpike) return undefined;
    const message = `The loss jumped to ${loss.toPrecision(4)} from about ${before.toPrecision(4)}. Check the batch, or lower the learning rate.`;
    return { kind: 'loss-spike', message, step };
  }

  /** The message for the end of a training whose last loss is not finite. */
  atEnd(): string | undefined {
    const from = this.#notFiniteFrom;
    return from && `The training ends with a loss that is not finite: ${from.loss} since step ${from.step}.`;
  }

  /** Alerts once, until the loss is finite again. */
  #notFinite(loss: number, step: number): Alert | undefined {
    if (this.#notFiniteFrom) return undefined;
    this.#notFiniteFrom = { loss, step };
    const message = `The loss is ${loss}. Check for a division by 0 or a logarithm of 0, lower the learning rate, or clip gradients.`;
    return { kind: 'loss-not-finite', message, step };
  }

  /** Updates the exponentially weighted mean and variance (Finch, 2009, section 9). */
  #learn(loss: number): void {
    const weight = Math.max(NEWEST, 1 / ++this.#seen);
    const off = loss - this.#mean;
    this.#mean += weight * off;
    this.#variance = (1 - weight) * (this.#variance + weight * off * off);
  }
}

/** Compares the computing times of ranks. */
export class SlowRankWatch {
  readonly #factor: number;
  readonly #inARow = new Map<number, number>();

  constructor({ slowFactor }: AlertOptions) {
    this.#factor = slowFactor;
  }

  /**
   * @param busyMs By rank: the duration of a step without waiting for other ranks, in milliseconds.
   */
  look(busyMs: ReadonlyMap<number, number>, step: number): Alert[] {
    if (busyMs.size < 2) return [];
    // With two ranks the median is the faster one, so the slower rank can exceed it.
    const middle = medianLow([...busyMs.values()]);
    return [...busyMs].flatMap(([rank, ms]): Alert[] => {
      const count = ms > this.#factor * middle ? (this.#inARow.get(rank) ?? 0) + 1 : 0;
      this.#inARow.set(rank, count);
      if (count !== SLOW_IN_A_ROW) return [];
      const message = `Rank ${rank} computes ${ms.toFixed(1)} ms per step. The median is ${middle.toFixed(1)} ms, so all other ranks wait for it. Check for other programs on its host, or a slower GPU.`;
      return [{ kind: 'slow-rank', message, step, rank }];
    });
  }
}

/**
 * The alert for a step that took longer than `stallMs`. It names the rank that was busy the
 * longest.
 */
export function stallAlert(stepMs: number, busyMs: ReadonlyMap<number, number>, step: number): Alert {
  const [rank] = [...busyMs].sort(([, a], [, b]) => b - a)[0] ?? [];
  const whose = busyMs.size < 2 ? '' : ` Rank ${rank} was busy the longest.`;
  const message = `A step took ${(stepMs / 1000).toFixed(0)} s.${whose} Check its data loading, its disk and its network.`;
  return { kind: 'stall', message, step, ...(rank !== undefined && { rank }) };
}
