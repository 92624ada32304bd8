import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { libraryFile } from './platform.js';
import { SUPPORTED_RANGE, isSupportedVersion, parseTorchVersion, type TorchVersion } from './version.js';

/** The place where a libtorch was found. */
export type LibtorchOrigin = 'ACC_LIBTORCH' | 'python' | 'cache';

/** A libtorch that can be loaded and built against. All paths are absolute. */
export interface LibtorchInstall {
  readonly root: string;
  /** The folder of `libtorch_cpu.so` and `libc10.so`. */
  readonly libDir: string;
  /** The folder of `torch/` and `ATen/`. */
  readonly includeDir: string;
  /** The version without the local label: `2.13.0`. */
  readonly version: string;
  /** `cpu`, `cu130`, `rocm7.1`. */
  readonly variant: string;
  readonly origin: LibtorchOrigin;
}

/** A usable libtorch, or the reason why a folder cannot be used. */
export type Inspection =
  | { readonly install: LibtorchInstall }
  | { readonly code: 'ACC_LIBTORCH_INVALID' | 'ACC_LIBTORCH_UNSUPPORTED'; readonly reason: string };

/**
 * Inspects one folder: libraries, headers, version. It takes well below a millisecond and loads
 * nothing.
 */
export function inspectLibtorch(root: string, origin: LibtorchOrigin): Inspection {
  const libDir = join(root, 'lib');
  const includeDir = join(root, 'include');
  const needed = [
    join(libDir, libraryFile('torch_cpu')),
    join(libDir, libraryFile('c10')),
    join(includeDir, 'torch'),
  ];
  const missing = needed.filter((path) => !existsSync(path));
  if (missing.length > 0) {
    return { code: 'ACC_LIBTORCH_INVALID', reason: `it does not contain ${missing.join(', ')}` };
  }
  const stated = readVersion(root);
  if (!stated) {
    return {
      code: 'ACC_LIBTORCH_INVALID',
      reason: `neither ${join(root, 'version.py')} nor ${join(root, 'build-version')} states a version`,
    };
  }
  if (!isSupportedVersion(stated.version)) {
    return {
      code: 'ACC_LIBTORCH_UNSUPPORTED',
      reason: `it is torch ${stated.version}, but torch ${SUPPORTED_RANGE} is supported`,
    };
  }
  const variant = stated.label ?? (hasCuda({ libDir }) ? 'cuda' : 'cpu');
  return { install: { root, libDir, includeDir, version: stated.version, variant, origin } };
}

/** Whether a libtorch computes on NVIDIA's GPUs. */
export function hasCuda({ libDir }: Pick<LibtorchInstall, 'libDir'>): boolean {
  return existsSync(join(libDir, libraryFile('torch_cuda')));
}

/**
 * Reads the version of a torch package from `version.py`, or of an official archive from
 * `build-version`.
 */
function readVersion(root: string): TorchVersion | undefined {
  const versionPy = join(root, 'version.py');
  if (existsSync(versionPy)) return parseVersionPy(readFileSync(versionPy, 'utf8'));
  const buildVersion = join(root, 'build-version');
  if (existsSync(buildVersion)) return parseTorchVersion(readFileSync(buildVersion, 'utf8'));
  return undefined;
}

/**
 * Parses torch's generated `version.py`. If a rebuilt package has no label, the CUDA version
 * replaces it.
 */
export function parseVersionPy(text: string): TorchVersion | undefined {
  const stated = /^__version__\s*=\s*['"]([^'"]+)['"]/m.exec(text)?.[1];
  const parsed = stated === undefined ? undefined : parseTorchVersion(stated);
  const cuda = /^cuda\b[^=]*=\s*['"]([\d.]+)['"]/m.exec(text)?.[1];
  const labelled = parsed?.label !== undefined && /^(cpu|cu\d+|rocm[\d.]+)$/.test(parsed.label);
  if (!parsed || labelled) return parsed;
  return { version: parsed.version, label: cuda ? `cu${cuda.split('.').slice(0, 2).join('')}` : undefined };
}
