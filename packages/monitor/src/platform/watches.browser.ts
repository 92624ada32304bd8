import type * as watches from './watches.js';
import type { SystemFigures } from '../system.js';

type Watches = typeof watches;

const MIB = 2 ** 20;

/**
 * A page cannot read the use of processors and of the host's memory. Chromium tells the memory of
 * the page's JavaScript.
 */
export class SystemClock implements Pick<InstanceType<Watches['SystemClock']>, 'take'> {
  take(): SystemFigures {
    const { memory } = performance as { memory?: { readonly usedJSHeapSize: number } };
    return {
      processCpuPercent: NaN,
      processMemoryMib: memory ? memory.usedJSHeapSize / MIB : NaN,
      hostCpuPercent: NaN,
      hostMemoryMib: NaN,
    };
  }
}

/**
 * A page never waits for other ranks. The alert that comes when a stall is over does not need this
 * watch.
 */
export class StallWatch {
  step(): void {}

  close(): void {}
}

/** Never created, because no backend in a page has tensors on `cuda`. */
export class GpuClock {
  readonly latest = undefined;

  close(): void {}
}
