import { createFilesMatcher, getTsconfig, type TsConfigJson } from 'get-tsconfig';
import { placesUpwards } from './nearest.js';

export type CompilerOptions = NonNullable<TsConfigJson['compilerOptions']>;

/**
 * Returns a function that gives the compiler options of a file as tsx takes them: of the tsconfig.json nearest to the
 * working directory, if it includes the file. Undefined if tsx is told of another file.
 *
 * @param seen Gets the paths of all files that the options come from, and of those that would have a say if they were there.
 */
export function compilerOptionsOf(
  cwd: string,
  seen: Set<string>,
): ((path: string) => CompilerOptions | undefined) | undefined {
  if (process.env.TSX_TSCONFIG_PATH !== undefined) return undefined;
  const calls = new Map<string, unknown>();
  const found = getTsconfig(cwd, undefined, calls);
  for (const path of placesUpwards(cwd, 'tsconfig.json')) seen.add(path);
  // Also of what it extends: `existsSync:/path/base.json`.
  for (const call of calls.keys()) seen.add(/^\w+:([^:]+)/.exec(call)?.[1] ?? '');
  if (!found) return () => undefined;
  const matcher = createFilesMatcher(found);
  return (path) => matcher(path)?.compilerOptions as CompilerOptions | undefined;
}
