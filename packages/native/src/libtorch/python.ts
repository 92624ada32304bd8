import { spawnSync } from 'node:child_process';
import { dirname } from 'node:path';

/** The folder of the torch package that `python3` would import, or why there is none. */
export type PythonTorch = { readonly path: string } | { readonly problem: string };

/** A broken `python3` may hang; a working one answers in less than 100 ms. */
const TIMEOUT_MS = 5_000;

/**
 * Only the path finder, over the path without the working folder: a user's own folder named `torch` must not be
 * taken for the package, and torch itself must not be imported, which takes seconds.
 */
const FIND_TORCH = `
import sys
from importlib.machinery import PathFinder
spec = PathFinder.find_spec("torch", [p for p in sys.path if p])
print(spec.origin or "" if spec else "")
`;

/** Asks `python3` on the `PATH` where its torch lies, without importing it: some 50 to 100 ms. */
export function findPythonTorch(): PythonTorch {
  const result = spawnSync('python3', ['-B', '-c', FIND_TORCH], {
    encoding: 'utf8',
    timeout: TIMEOUT_MS,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (result.error) {
    const missing = (result.error as NodeJS.ErrnoException).code === 'ENOENT';
    return { problem: missing ? 'no python3 on the PATH' : `python3 failed: ${result.error.message}` };
  }
  if (result.status !== 0) {
    const lastLine = result.stderr.trim().split('\n').at(-1) ?? '';
    return { problem: `python3 ended with ${result.status ?? result.signal}: ${lastLine}` };
  }
  const origin = result.stdout.trim();
  return origin ? { path: dirname(origin) } : { problem: 'python3 has no torch installed' };
}
