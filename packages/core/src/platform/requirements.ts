import type { AcceleratorOptions } from '../options.js';

/** Refuses options that this platform cannot follow. Node.js can follow all. */
export function requireAvailable(_options: AcceleratorOptions): void {}

/** Whether libtorch may be installed here. */
export const mayHaveNative = true;
