import { createFilesMatcher, getTsconfig, type TsConfigJson } from 'get-tsconfig';
import { placesUpwards } from './nearest.js';

export type CompilerOptions = NonNullable<TsConfigJson['compilerOptions']>;

/**
 * Returns a function that gives the compiler options of a file as tsx uses them: those of the
 * nearest tsconfig.json to the working directory, if it includes the file. Undefined if
 * TSX_TSCONFIG_PATH names another file.
 *
 * @param seen Receives the paths of all files that the options depend on, including paths at which
 * a file would change them.
 */
export function compilerOptionsOf(
  cwd: string,
  seen: Set<string>,
): ((path: string) => CompilerOptions | undefined) | undefined {
  if (process.env.TSX_TSCONFIG_PATH !== undefined) return undefined;
  const calls = new Map<string, unknown>();
  const found = getTsconfig(cwd, undefined, calls);
  for (const path of placesUpwards(cwd, 'tsconfig.json')) seen.add(path);
  // Includes the files that it extends: `existsSync:/path/base.json`.
  for (const call of calls.keys()) seen.add(/^\w+:([^:]+)/.exec(call)?.[1] ?? '');
  if (!found) return () => undefined;
  const matcher = createFilesMatcher(found);
  return (path) => matcher(path)?.compilerOptions as CompilerOptions | undefined;
}
