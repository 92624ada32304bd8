import { medianLow } from '@acc/contract';

/** Something about a training that somebody should look at. */
export interface Alert {
  readonly kind: 'loss-not-finite' | 'loss-spike' | 'slow-rank' | 'stall';
  /** For people: what, where, and what may be done. */
  readonly message: string;
  /** Optimizer steps taken so far. */
  readonly step: number;
  /** The rank that it is about; undefined where it is about all. */
  readonly rank?: number;
}

export interface AlertOptions {
  readonly spikeDeviations: number;
  readonly slowFactor: number;
}

/** Losses before one can be a spike. */
const WARM_UP = 30;
/** Weight of the newest loss in the mean and the variance of late. */
const NEWEST = 0.05;
/** Sets of figures in a row in which a rank is slow before that is said. */
const SLOW_IN_A_ROW = 3;

/** Looks at losses one after another. */
export class LossWatch {
  readonly #deviations: number;
  #seen = 0;
  #mean = 0;
  #variance = 0;
  #wasFinite = true;

  constructor({ spikeDeviations }: AlertOptions) {
    this.#deviations = spikeDeviations;
  }

  /** @param step Optimizer steps up to that of the loss. */
  look(loss: number, step: number): Alert | undefined {
    if (!Number.isFinite(loss)) return this.#notFinite(loss, step);
    this.#wasFinite = true;
    const limit = this.#mean + this.#deviations * Math.sqrt(this.#variance);
    const isSpike = this.#seen >= WARM_UP && loss > limit && loss > this.#mean + 1e-3 * Math.abs(this.#mean);
    const before = this.#mean;
    this.#learn(isSpike ? limit : loss);
    if (!isSpike) return undefined;
    const message = `The loss jumped to ${loss.toPrecision(4)} from about ${before.toPrecision(4)}. Look at the batch, or lower the learning rate.`;
    return { kind: 'loss-spike', message, step };
  }

  /** Once, until it is finite again. */
  #notFinite(loss: number, step: number): Alert | undefined {
    const isNew = this.#wasFinite;
    this.#wasFinite = false;
    if (!isNew) return undefined;
    const message = `The loss is ${loss}. Look for a division by 0 or a logarithm of it, lower the learning rate, or clip gradients.`;
    return { kind: 'loss-not-finite', message, step };
  }

  /** Exponentially weighted mean and variance (Finch, 2009, section 9). */
  #learn(loss: number): void {
    const weight = Math.max(NEWEST, 1 / ++this.#seen);
    const off = loss - this.#mean;
    this.#mean += weight * off;
    this.#variance = (1 - weight) * (this.#variance + weight * off * off);
  }
}

/** Looks at how long ranks compute. */
export class SlowRankWatch {
  readonly #factor: number;
  readonly #inARow = new Map<number, number>();

  constructor({ slowFactor }: AlertOptions) {
    this.#factor = slowFactor;
  }

  /** @param busyMs By rank: a step without what it waits for others. */
  look(busyMs: ReadonlyMap<number, number>, step: number): Alert[] {
    if (busyMs.size < 2) return [];
    // Of two ranks the faster one: the slower can be slow beside it.
    const middle = medianLow([...busyMs.values()]);
    return [...busyMs].flatMap(([rank, ms]): Alert[] => {
      const count = ms > this.#factor * middle ? (this.#inARow.get(rank) ?? 0) + 1 : 0;
      this.#inARow.set(rank, count);
      if (count !== SLOW_IN_A_ROW) return [];
      const message = `Rank ${rank} computes ${ms.toFixed(1)} ms a step, the median is ${middle.toFixed(1)} ms: all others wait for it. Look for other programs on its host, or a GPU that is slower.`;
      return [{ kind: 'slow-rank', message, step, rank }];
    });
  }
}

/** A step that took as long as a stall, and the rank that it was due to. */
export function stallAlert(stepMs: number, busyMs: ReadonlyMap<number, number>, step: number): Alert {
  const [rank] = [...busyMs].sort(([, a], [, b]) => b - a)[0] ?? [];
  const whose = busyMs.size < 2 ? '' : ` Rank ${rank} was busy the longest.`;
  const message = `A step took ${(stepMs / 1000).toFixed(0)} s.${whose} Look at its data, its disk and its network.`;
  return { kind: 'stall', message, step, ...(rank !== undefined && { rank }) };
}
