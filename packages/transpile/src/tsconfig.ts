import { createFilesMatcher, getTsconfig, type TsConfigJson } from 'get-tsconfig';

export type CompilerOptions = NonNullable<TsConfigJson['compilerOptions']>;

/**
 * Returns a function that gives the compiler options of a file as tsx takes them: of the tsconfig.json nearest to the
 * working directory, if it includes the file. Undefined if tsx is told of another file.
 */
export function compilerOptionsOf(cwd: string): ((path: string) => CompilerOptions | undefined) | undefined {
  if (process.env.TSX_TSCONFIG_PATH !== undefined) return undefined;
  const found = getTsconfig(cwd);
  if (!found) return () => undefined;
  const matcher = createFilesMatcher(found);
  return (path) => matcher(path)?.compilerOptions as CompilerOptions | undefined;
}
