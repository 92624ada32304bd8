import { join } from 'node:path';
import type { Expected } from './own-files.js';

/** What a process is told about prepared packages. */
export interface PreparedSet {
  /** The folder of this version of the packages, in the cache of the user. */
  readonly folder: string;
  /** The script of all ES modules. Undefined if the program imports none that is prepared. */
  readonly script: Expected | undefined;
  /** The URL of the module that exports `startPrepared` and `exportsOf`. */
  readonly loader: string;
}

/**
 * The path of the script. It is one of a package, so that whoever searches a stack for the user's own
 * code leaves it out.
 */
export const scriptOf = (folder: string): string => join(folder, 'node_modules', '@acc', 'packages.js');
export const mapOf = (folder: string): string => `${scriptOf(folder)}.map`;

/** The functions that the script is given. */
export const REQUIRE = 'accRequire';
export const IMPORT = 'accImport';
