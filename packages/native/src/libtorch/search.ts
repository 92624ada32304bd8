import { AccError } from '@acc/contract';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readEnvironment } from './environment.js';
import { inspectLibtorch, type LibtorchInstall, type LibtorchOrigin } from './inspect.js';
import { currentPlatform, requirePlatform } from './platform.js';
import { findPythonTorch } from './python.js';
import { SUPPORTED_RANGE, compareVersions } from './version.js';

/** One place that was looked at. */
export interface SearchCandidate {
  readonly origin: LibtorchOrigin;
  /** The folder looked at; absent when the place doesn't exist at all. */
  readonly path?: string;
  /** `found`: usable. `refused`: something is there that can't be used. `absent`: nothing is there. */
  readonly outcome: 'found' | 'refused' | 'absent';
  /** In words, for `acc env`. */
  readonly reason: string;
  /** With `refused`: the code of the error that insisting on it would give. */
  readonly code?: string;
  readonly install?: LibtorchInstall;
}

/** Everything that was looked at, in order, and what {@link findLibtorch} takes. */
export interface LibtorchSearch {
  readonly candidates: readonly SearchCandidate[];
  /** Undefined also when `ACC_LIBTORCH` is set to something unusable: it is never passed over. */
  readonly chosen: LibtorchInstall | undefined;
}

/**
 * Looks for a libtorch: `ACC_LIBTORCH`, then the torch of the `python3` on the `PATH`, then the cache (newest
 * version first, CUDA before CPU). Costs one short `python3` unless `ACC_LIBTORCH` is set.
 *
 * @returns The first usable one; undefined when there is none or the platform is not supported.
 * @throws AccError `ACC_LIBTORCH_INVALID`, `ACC_LIBTORCH_UNSUPPORTED` when `ACC_LIBTORCH` names an unusable one.
 */
export function findLibtorch(): LibtorchInstall | undefined {
  return currentPlatform() ? firstUsable([]) : undefined;
}

/**
 * As {@link findLibtorch}, but a libtorch must be there.
 *
 * @throws AccError `ACC_LIBTORCH_MISSING`, `ACC_PLATFORM_UNSUPPORTED` and what {@link findLibtorch} throws.
 */
export function requireLibtorch(): LibtorchInstall {
  requirePlatform();
  const candidates: SearchCandidate[] = [];
  const install = firstUsable(candidates);
  if (install) return install;
  const looked = candidates.map(({ origin, reason }) => `  ${origin}: ${reason}`).join('\n');
  throw new AccError('ACC_LIBTORCH_MISSING', `No libtorch (torch ${SUPPORTED_RANGE}) was found.\n${looked}`, {
    help: 'npx acc setup',
    details: { candidates },
  });
}

/** Notes what it looks at in `candidates`, and stops at the first usable one. */
function firstUsable(candidates: SearchCandidate[]): LibtorchInstall | undefined {
  for (const candidate of searchCandidates()) {
    candidates.push(candidate);
    if (candidate.install) return candidate.install;
    if (candidate.origin === 'ACC_LIBTORCH' && candidate.outcome === 'refused') throw refusal(candidate);
  }
  return undefined;
}

/** Looks at every place, also those after the first usable one. An unusable `ACC_LIBTORCH` is an outcome here. */
export function describeSearch(): LibtorchSearch {
  const candidates = [...searchCandidates()];
  const insisted = candidates.some(
    ({ origin, outcome }) => origin === 'ACC_LIBTORCH' && outcome === 'refused',
  );
  const usable = insisted || !currentPlatform() ? [] : candidates;
  return { candidates, chosen: usable.find(({ install }) => install)?.install };
}

/** The cached libtorchs of `cacheDir`, newest version first, CUDA before CPU (it is there only when asked for). */
export function cachedLibtorchFolders(cacheDir: string): string[] {
  const parent = join(cacheDir, 'libtorch');
  const split = (name: string) => /^(\d+\.\d+[\w.]*)-([a-z][\w.]*)$/.exec(name);
  return readNames(parent)
    .filter(split)
    .sort((a, b) => {
      const [, versionA = '', variantA = ''] = split(a)!;
      const [, versionB = '', variantB = ''] = split(b)!;
      return compareVersions(versionB, versionA) || Number(variantA === 'cpu') - Number(variantB === 'cpu');
    })
    .map((name) => join(parent, name));
}

function* searchCandidates(): Generator<SearchCandidate> {
  const { libtorch, cacheDir } = readEnvironment();
  if (libtorch) yield candidateAt(libtorch, 'ACC_LIBTORCH');
  else yield { origin: 'ACC_LIBTORCH', outcome: 'absent', reason: 'not set' };

  const python = findPythonTorch();
  if ('path' in python) yield candidateAt(python.path, 'python');
  else yield { origin: 'python', outcome: 'absent', reason: python.problem };

  const cached = cachedLibtorchFolders(cacheDir);
  for (const folder of cached) yield candidateAt(folder, 'cache');
  if (cached.length === 0) {
    yield { origin: 'cache', outcome: 'absent', reason: `nothing in ${join(cacheDir, 'libtorch')}` };
  }
}

function candidateAt(path: string, origin: LibtorchOrigin): SearchCandidate {
  const inspection = inspectLibtorch(path, origin);
  if ('install' in inspection) {
    const { version, variant } = inspection.install;
    return {
      origin,
      path,
      outcome: 'found',
      reason: `torch ${version} (${variant}) in ${path}`,
      install: inspection.install,
    };
  }
  return { origin, path, outcome: 'refused', reason: `${path}: ${inspection.reason}`, code: inspection.code };
}

function refusal({ code, reason, path }: SearchCandidate): AccError {
  return new AccError(code!, `ACC_LIBTORCH can't be used. ${reason}.`, {
    help: 'Set ACC_LIBTORCH to a folder that holds lib/ and include/ of a supported libtorch, or unset it and run: npx acc setup',
    details: { path },
  });
}

function readNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
}
