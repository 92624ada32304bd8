import { AccError } from '@acc/contract';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { asReadError } from './disk.js';
import { readEnvironment } from './environment.js';
import { inspectLibtorch, type LibtorchInstall, type LibtorchOrigin } from './inspect.js';
import { currentPlatform, requirePlatform } from './platform.js';
import { findPythonTorch } from './python.js';
import { SUPPORTED_RANGE, compareVersions, isTestedVersion } from './version.js';

/** One place that was searched. */
export interface SearchCandidate {
  readonly origin: LibtorchOrigin;
  /** The folder. Absent if the place does not exist. */
  readonly path?: string;
  /** `found`: usable. `refused`: it exists but cannot be used. `absent`: it does not exist. */
  readonly outcome: 'found' | 'refused' | 'absent';
  /** The reason as text, for `acc env`. */
  readonly reason: string;
  /** With `refused`: the code of the error if this place were required. */
  readonly code?: string;
  readonly install?: LibtorchInstall;
}

/** All places that were searched, in order, and the result of {@link findLibtorch}. */
export interface LibtorchSearch {
  readonly candidates: readonly SearchCandidate[];
  /**
   * Also undefined if `ACC_LIBTORCH` names an unusable libtorch. In this case no other place is
   * used.
   */
  readonly chosen: LibtorchInstall | undefined;
}

/**
 * Searches for a libtorch: `ACC_LIBTORCH`, then the torch of `python3` on the `PATH`, then the
 * cache (newest version first, CUDA before CPU). A version that this release is not tested with is
 * used where `ACC_LIBTORCH` names it or there is no other. Starts a short `python3` unless `ACC_LIBTORCH` is
 * set.
 *
 * @returns The first usable one. Undefined if there is none or if the platform is not supported.
 * @throws AccError `ACC_LIBTORCH_INVALID`, `ACC_LIBTORCH_UNSUPPORTED` if `ACC_LIBTORCH` names an
 * unusable one.
 */
export function findLibtorch(): LibtorchInstall | undefined {
  return currentPlatform() ? firstUsable([]) : undefined;
}

/**
 * Like {@link findLibtorch}, but throws if there is no libtorch.
 *
 * @throws AccError `ACC_LIBTORCH_MISSING`, `ACC_PLATFORM_UNSUPPORTED` and the errors of {@link
 * findLibtorch}.
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

/** Adds each searched place to `candidates`, and stops at the first one to use. */
function firstUsable(candidates: SearchCandidate[]): LibtorchInstall | undefined {
  for (const candidate of searchCandidates()) {
    candidates.push(candidate);
    if (isPreferred(candidate)) return candidate.install;
    if (candidate.origin === 'ACC_LIBTORCH' && candidate.outcome === 'refused') throw refusal(candidate);
  }
  return candidates.find(({ install }) => install)?.install;
}

/** Whether a place is used whatever comes after it. */
function isPreferred({ install, origin }: SearchCandidate): boolean {
  return install !== undefined && (origin === 'ACC_LIBTORCH' || isTestedVersion(install.version));
}

/**
 * Searches every place, including those after the first usable one. Does not throw for an unusable
 * `ACC_LIBTORCH`.
 */
export function describeSearch(): LibtorchSearch {
  const candidates = [...searchCandidates()];
  const insisted = candidates.some(
    ({ origin, outcome }) => origin === 'ACC_LIBTORCH' && outcome === 'refused',
  );
  const usable = insisted || !currentPlatform() ? [] : candidates;
  const chosen = usable.find(isPreferred) ?? usable.find(({ install }) => install);
  return { candidates, chosen: chosen?.install };
}

/**
 * The libtorch folders in the cache, newest version first, CUDA before CPU, because CUDA is only
 * there if the user installed it.
 */
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
      reason: `torch ${version} (${variant}) in ${path}${isTestedVersion(version) ? '' : `, newer than the tested ${SUPPORTED_RANGE}`}`,
      install: inspection.install,
    };
  }
  return { origin, path, outcome: 'refused', reason: `${path}: ${inspection.reason}`, code: inspection.code };
}

function refusal({ code, reason, path }: SearchCandidate): AccError {
  return new AccError(code!, `ACC_LIBTORCH cannot be used. ${reason}.`, {
    help: 'Set ACC_LIBTORCH to a folder with lib/ and include/ of a supported libtorch, or unset it and run: npx acc setup',
    details: { path },
  });
}

function readNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw asReadError(error, folder);
  }
}
