import { notInBrowser } from '@acc/platform';
import type * as hostMemory from './host-memory.js';

type HostMemory = typeof hostMemory;

/** The memory of a page is not known, so there is no limit. */
export const bytesForWeights: HostMemory['bytesForWeights'] = () => Infinity;

export const tmpdir: HostMemory['tmpdir'] = () => '/';

/** A page has no files that are read synchronously. */
export const ValueFile = class ValueFile {
  constructor() {
    throw notInBrowser(
      'Weights that are not in memory need a file that is read synchronously',
      'Leave out maxMemory and offloadFolder, so that all weights stay in memory. initEmptyWeights works with initializers that give one value, for example zeros.',
    );
  }
} as unknown as HostMemory['ValueFile'];
