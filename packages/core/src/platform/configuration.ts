import { withConfiguration } from '@acc/config';
import type { AcceleratorOptions } from '../options.js';

/** Adds the options of ACC_* variables and of the config file. */
export function configured(
  options: AcceleratorOptions,
  env: Readonly<Record<string, string | undefined>>,
): Promise<AcceleratorOptions> {
  return withConfiguration(options, env, workingFolder());
}

/** `process.cwd()` throws if the working directory was removed, which has no config file. */
function workingFolder(): string {
  try {
    return process.cwd();
  } catch {
    return '.';
  }
}
