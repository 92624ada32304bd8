import type { AcceleratorOptions } from '../options.js';

/** A page has neither an environment nor config files. */
export const configured = (options: AcceleratorOptions): Promise<AcceleratorOptions> =>
  Promise.resolve(options);
