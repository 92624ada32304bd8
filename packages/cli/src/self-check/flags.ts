import { LAUNCH_OPTIONS, type OptionsOf } from '@acc/config';
import type { ConfigFlags } from '../config/launch-flags.js';

const { nproc, threads } = LAUNCH_OPTIONS;
/** The flags that `acc launch` also has. */
export const OF_LAUNCH = { nproc: { ...nproc, otherwise: 'as acc launch' }, threads };

/** The options of `acc test`. */
export interface TestFlags extends ConfigFlags, OptionsOf<typeof OF_LAUNCH> {
  readonly engine?: string;
  readonly json?: boolean;
}
