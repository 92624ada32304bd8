import { withConfiguration, workingFolder } from '@acc/config';
import type { AcceleratorOptions } from '../options.js';

/** Adds the options of ACC_* variables and of the config file. */
export function configured(
  options: AcceleratorOptions,
  env: Readonly<Record<string, string | undefined>>,
): Promise<AcceleratorOptions> {
  return withConfiguration(options, env, workingFolder());
}
