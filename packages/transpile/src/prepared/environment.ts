import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { AccError } from '@acc/contract';

/** The settings of the cache of prepared packages. */
export interface PreparedSettings {
  /** The folder of the cache. Undefined: packages are loaded in the ordinary way. */
  readonly folder: string | undefined;
}

/** Options of Node.js that change which modules are loaded, or who sees how. */
const CHANGES_LOADING =
  /^(-r|--require|--import|--loader|--experimental-loader|-C|--conditions|--inspect.*|--preserve-symlinks.*|--experimental-default-type|--no-experimental-require-module|--permission|--experimental-permission|--policy-.*|--experimental-policy)(=|$)/;

/**
 * Reads the settings.
 *
 * @param nodeArgs The options of Node.js with which programs will run.
 * @throws AccError `ACC_INVALID_OPTION`.
 */
export function preparedSettings(
  nodeArgs: readonly string[] = [],
  env: Readonly<Record<string, string | undefined>> = process.env,
): PreparedSettings {
  const options = [...nodeArgs, ...(env['NODE_OPTIONS'] ?? '').split(/\s+/)];
  const isOrdinary =
    !isWanted(env['ACC_START_CACHE'] ?? '') ||
    // Coverage is that of the files.
    !!env['NODE_V8_COVERAGE'] ||
    options.some((option) => CHANGES_LOADING.test(option));
  return { folder: isOrdinary ? undefined : join(cacheFolder(env), 'starts') };
}

function isWanted(text: string): boolean {
  const value = { '': true, true: true, '1': true, false: false, '0': false }[text.toLowerCase()];
  if (value !== undefined) return value;
  throw new AccError('ACC_INVALID_OPTION', `ACC_START_CACHE is '${text}'. Expected true or false.`, {
    help: 'ACC_START_CACHE=false loads packages without the cache.',
    details: { variable: 'ACC_START_CACHE', value: text },
  });
}

function cacheFolder(env: Readonly<Record<string, string | undefined>>): string {
  if (env['ACC_CACHE_DIR']) return resolve(env['ACC_CACHE_DIR']);
  const xdg = env['XDG_CACHE_HOME'];
  return xdg && isAbsolute(xdg) ? join(xdg, 'acc') : join(homedir(), '.cache', 'acc');
}
