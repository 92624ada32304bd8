import { createRequire } from 'node:module';

/**
 * The version of this package. The path is valid from `src/` and from `dist/`, which has no
 * folders.
 */
export function cliVersion(): string {
  return (createRequire(import.meta.url)('../package.json') as { version: string }).version;
}
