import { AccError, checkKeys } from '@acc/contract';
import { readCometEnvironment } from './environment.js';

export interface CometOptions {
  /** The workspace. Default: COMET_WORKSPACE, else the default workspace of the user. */
  readonly workspace?: string;
  /** The project. Default: COMET_PROJECT_NAME, else the project of `initTrackers`. */
  readonly project?: string;
  /** The folder of archives. Default: COMET_OFFLINE_DIRECTORY, else `comet` in the folder of each run. */
  readonly dir?: string;
}

/** @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function resolveOptions(options: CometOptions): CometOptions {
  checkKeys('comet', options, ['workspace', 'project', 'dir']);
  for (const [name, value] of Object.entries(options) as [string, unknown][]) {
    if (value === undefined || (typeof value === 'string' && value !== '')) continue;
    throw new AccError('ACC_INVALID_OPTION', `comet: ${name} is ${JSON.stringify(value)}, expected a text.`, {
      help: `Leave out ${name} for its default.`,
    });
  }
  return { ...readCometEnvironment(), ...options };
}
