import { float32Only } from '@acc/amp';
import type { StrategyContext } from '@acc/contract';
import type * as mixedPrecision from './mixed-precision.js';

type MixedPrecision = typeof mixedPrecision;

/** No backend of a page has 16-bit tensors. */
export const amp = (() => ({
  name: 'amp',
  attach({ kernels }: StrategyContext) {
    throw float32Only(kernels.backendName);
  },
})) as unknown as MixedPrecision['amp'];
