import { spawnSync } from 'node:child_process';
import { dirname } from 'node:path';

/** The folder of the torch package that `python3` would import, or the reason why there is none. */
export type PythonTorch = { readonly path: string } | { readonly problem: string };

/** A broken `python3` may hang. A working one answers in less than 100 ms. */
const TIMEOUT_MS = 5_000;

/**
 * Uses only the path finder, with a path that does not contain the working folder. A user's folder
 * named `torch` must not be mistaken for the package. torch itself must not be imported, because
 * that takes seconds.
 */
const FIND_TORCH = `
import sys
from importlib.machinery import PathFinder
spec = PathFinder.find_spec("torch", [p for p in sys.path if p])
print(spec.origin or "" if spec else "")
`;

/**
 * Asks `python3` on the `PATH` for the folder of its torch, without importing it. It takes about 50
 * to 100 ms.
 */
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
