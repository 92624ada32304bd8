import { operator, type Tensor } from '@acc/native';
import { Histogram, type Limits } from './histogram.js';
import { leastErrorRange, smallestNormRange } from './range-search.js';

const amin = operator('aten::min');
const amax = operator('aten::max');

/** Finds the range of the inputs of a layer from all batches. */
export interface InputObserver {
  /** @param x Float32, finite, of any shape. Borrowed. */
  see(x: Tensor): void;
  range(): Limits;
}

/** How a range is found. */
export type ObserverName = 'minMax' | 'movingAverage' | 'histogram' | 'mse';

/** The share of the newest batch, as PyTorch's `MovingAverageMinMaxObserver` has it. */
const NEWEST = 0.01;

export function observerOf(name: ObserverName): InputObserver {
  switch (name) {
    case 'minMax':
      return limitsObserver(([least, largest], [low, high]) => [
        Math.min(least, low),
        Math.max(largest, high),
      ]);
    case 'movingAverage':
      return limitsObserver((limits, found) => [
        limits[0] + NEWEST * (found[0] - limits[0]),
        limits[1] + NEWEST * (found[1] - limits[1]),
      ]);
    case 'histogram':
      return histogramObserver(smallestNormRange);
    case 'mse':
      return histogramObserver(leastErrorRange);
  }
}

function limitsObserver(joined: (limits: Limits, found: Limits) => Limits): InputObserver {
  let limits: Limits | undefined;
  return {
    see(x) {
      const found = limitsOf(x);
      limits = limits ? joined(limits, found) : found;
    },
    range: () => limits!,
  };
}

function histogramObserver(rangeOf: (histogram: Histogram) => Limits): InputObserver {
  const histogram = new Histogram();
  return {
    see: (x) => histogram.add(x, limitsOf(x)),
    range: () => (histogram.width === 0 ? [histogram.least, histogram.largest] : rangeOf(histogram)),
  };
}

function limitsOf(x: Tensor): Limits {
  using least = amin(x);
  using largest = amax(x);
  return [(least.read('float32') as Float32Array)[0]!, (largest.read('float32') as Float32Array)[0]!];
}
