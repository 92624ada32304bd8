import { PerformanceObserver, type PerformanceEntry } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';

/** The times at which V8 collected garbage, from now on. */
export class GarbageTimes {
  readonly #entries: PerformanceEntry[] = [];
  readonly #observer = new PerformanceObserver((list) => void this.#entries.push(...list.getEntries()));

  constructor() {
    this.#observer.observe({ entryTypes: ['gc'] });
  }

  /** Node reports entries between tasks, with the times at which they began. */
  async take(): Promise<readonly PerformanceEntry[]> {
    await setTimeout(0);
    return this.#entries.splice(0);
  }

  end(): void {
    this.#observer.disconnect();
  }
}
