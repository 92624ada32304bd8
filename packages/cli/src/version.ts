import { createRequire } from 'node:module';

/** Version of this package. The path holds for `src/` and for `dist/`, which has no folders. */
export function cliVersion(): string {
  return (createRequire(import.meta.url)('../package.json') as { version: string }).version;
}
