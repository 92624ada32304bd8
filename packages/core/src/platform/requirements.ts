import type { AcceleratorOptions } from '../options.js';

export { axesOf, featuresOf, featuresOfRun } from '../presets/features.js';
export { requireTogether } from '../presets/require-together.js';

/** Refuses options that this platform cannot follow. Node.js can follow all. */
export function requireAvailable(_options: AcceleratorOptions): void {}

/** Whether libtorch may be installed here. */
export const mayHaveNative = true;

/** Advice for invalid values of options, by name. */
export const OPTION_HELP: Readonly<Record<string, string>> = {
  logWith: "Give names and trackers. A factory must be called: logWith: ['jsonl', consoleTracker()].",
  mesh: 'Give the number of ranks along each axis, or -1 for all that are left.',
  stages: "Give a list of layer names for each stage: [['first'], ['second', 'third']].",
};
