import { PerformanceObserver } from 'node:perf_hooks';
import { observeExpertLoads, observeWaits, type Wait } from '@acc/contract';

/** Times that held up the loop of a step, in milliseconds, and the load of experts. */
export interface LoopTimes {
  readonly loader: number;
  readonly saves: number;
  readonly reads: number;
  readonly logging: number;
  /** NaN until Node.js has reported a collection. */
  readonly gc: number;
  /** The tokens of the fullest expert, of the mean of its layer. 0: no layer has routed tokens. */
  readonly expertLoad: number;
}

/** Adds up the waits of a loop between its steps, and the garbage collections of the process. */
export class LoopFigures {
  readonly #waits: Record<Exclude<Wait, 'reads'>, number> = { loader: 0, saves: 0, logging: 0 };
  #reads: { readonly start: number; readonly ms: number }[] = [];
  /** The end of the last read. Reads that overlap count once. */
  #readUntil = 0;
  #gc = NaN;
  #expertLoad = 0;
  #stepEnd = performance.now();
  readonly #ends = [
    observeWaits((wait, start, ms) => this.wait(wait, start, ms)),
    observeExpertLoads((tokens) => this.routed(tokens)),
  ];
  readonly #observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) this.collected(duration);
  });

  /** @param isInStep Whether a pass, the reduction of gradients or the optimizer runs, whose reads are no waits of the loop. */
  constructor(private readonly isInStep: () => boolean = () => false) {
    this.#observer.observe({ entryTypes: ['gc'] });
  }

  /** A wait during which a step ended has not held the loop up. Reads within another wait are its own. */
  wait(wait: Wait, start: number, ms: number): void {
    if (start < this.#stepEnd || (wait === 'reads' && this.isInStep())) return;
    if (wait === 'reads') this.#read(start, start + ms);
    else {
      this.#waits[wait] += ms;
      this.#reads = this.#reads.filter((read) => read.start < start);
    }
  }

  #read(start: number, end: number): void {
    const alone = end - Math.max(start, this.#readUntil);
    if (alone <= 0) return;
    this.#readUntil = end;
    this.#reads.push({ start, ms: alone });
  }

  collected(ms: number): void {
    this.#gc = (Number.isNaN(this.#gc) ? 0 : this.#gc) + ms;
  }

  routed(tokensPerExpert: readonly number[]): void {
    const tokens = tokensPerExpert.reduce((sum, count) => sum + count, 0);
    if (tokens === 0) return;
    const load = (Math.max(...tokensPerExpert) * tokensPerExpert.length) / tokens;
    this.#expertLoad = Math.max(this.#expertLoad, load);
  }

  /** The figures since the last call. */
  take(): LoopTimes {
    const waits = this.#waits;
    const reads = this.#reads.reduce((sum, { ms }) => sum + ms, 0);
    const times = { ...waits, reads, gc: this.#gc, expertLoad: this.#expertLoad };
    waits.loader = waits.saves = waits.logging = this.#expertLoad = 0;
    this.#reads = [];
    if (!Number.isNaN(this.#gc)) this.#gc = 0;
    this.#stepEnd = performance.now();
    return times;
  }

  /** Forgets the reads since the last call of {@link take}, which are those of the records themselves. */
  skip(): void {
    this.#reads = [];
  }

  close(): void {
    for (const end of this.#ends) end();
    this.#observer.disconnect();
  }
}
