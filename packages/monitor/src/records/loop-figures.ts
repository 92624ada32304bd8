import { PerformanceObserver } from 'node:perf_hooks';
import { observeWaits, type Wait } from '@acc/contract';

/** Times that held up the loop of a step, in milliseconds. */
export interface LoopTimes {
  readonly loader: number;
  readonly saves: number;
  /** NaN until Node.js has reported a collection. */
  readonly gc: number;
}

/** Adds up the waits of a loop between its steps, and the garbage collections of the process. */
export class LoopFigures {
  #loader = 0;
  #saves = 0;
  #gc = NaN;
  #stepEnd = performance.now();
  readonly #endWaits = observeWaits((wait, start, ms) => this.wait(wait, start, ms));
  readonly #observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) this.collected(duration);
  });

  constructor() {
    this.#observer.observe({ entryTypes: ['gc'] });
  }

  /** A wait during which a step ended has not held the loop up. */
  wait(wait: Wait, start: number, ms: number): void {
    if (start < this.#stepEnd) return;
    if (wait === 'loader') this.#loader += ms;
    else this.#saves += ms;
  }

  collected(ms: number): void {
    this.#gc = (Number.isNaN(this.#gc) ? 0 : this.#gc) + ms;
  }

  /** The times since the last call. */
  take(): LoopTimes {
    const times = { loader: this.#loader, saves: this.#saves, gc: this.#gc };
    this.#loader = this.#saves = 0;
    if (!Number.isNaN(this.#gc)) this.#gc = 0;
    this.#stepEnd = performance.now();
    return times;
  }

  close(): void {
    this.#endWaits();
    this.#observer.disconnect();
  }
}
