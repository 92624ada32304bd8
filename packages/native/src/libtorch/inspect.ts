import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { libraryFile } from './platform.js';
import { SUPPORTED_RANGE, isSupportedVersion, parseTorchVersion, type TorchVersion } from './version.js';

/** Where a libtorch was found. */
export type LibtorchOrigin = 'ACC_LIBTORCH' | 'python' | 'cache';

/** A libtorch that can be built against and loaded. All paths are absolute. */
export interface LibtorchInstall {
  readonly root: string;
  /** Holds `libtorch_cpu.so` and `libc10.so`. */
  readonly libDir: string;
  /** Holds `torch/` and `ATen/`. */
  readonly includeDir: string;
  /** Without the local label: `2.13.0`. */
  readonly version: string;
  /** `cpu`, `cu130`, `rocm7.1`. */
  readonly variant: string;
  readonly origin: LibtorchOrigin;
}

/** What a folder turned out to be: a usable libtorch, or the reason why not. */
export type Inspection =
  | { readonly install: LibtorchInstall }
  | { readonly code: 'ACC_LIBTORCH_INVALID' | 'ACC_LIBTORCH_UNSUPPORTED'; readonly reason: string };

/** Looks at one folder: libraries, headers, version. Takes well below a millisecond; loads nothing. */
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
    return { code: 'ACC_LIBTORCH_INVALID', reason: `looked for ${missing.join(', ')} and found none there` };
  }
  const stated = readVersion(root);
  if (!stated) {
    return {
      code: 'ACC_LIBTORCH_INVALID',
      reason: `looked for a version in ${join(root, 'version.py')} and ${join(root, 'build-version')}`,
    };
  }
  if (!isSupportedVersion(stated.version)) {
    return {
      code: 'ACC_LIBTORCH_UNSUPPORTED',
      reason: `it is torch ${stated.version}; supported is torch ${SUPPORTED_RANGE}`,
    };
  }
  const variant = stated.label ?? (existsSync(join(libDir, libraryFile('torch_cuda'))) ? 'cuda' : 'cpu');
  return { install: { root, libDir, includeDir, version: stated.version, variant, origin } };
}

/** A torch package states its version in `version.py`, the official archive in `build-version`. */
function readVersion(root: string): TorchVersion | undefined {
  const versionPy = join(root, 'version.py');
  if (existsSync(versionPy)) return parseVersionPy(readFileSync(versionPy, 'utf8'));
  const buildVersion = join(root, 'build-version');
  if (existsSync(buildVersion)) return parseTorchVersion(readFileSync(buildVersion, 'utf8'));
  return undefined;
}

/** Reads torch's generated `version.py`; the CUDA version stands in for a label that a rebuilt package lacks. */
export function parseVersionPy(text: string): TorchVersion | undefined {
  const stated = /^__version__\s*=\s*['"]([^'"]+)['"]/m.exec(text)?.[1];
  const parsed = stated === undefined ? undefined : parseTorchVersion(stated);
  const cuda = /^cuda\b[^=]*=\s*['"]([\d.]+)['"]/m.exec(text)?.[1];
  const labelled = parsed?.label !== undefined && /^(cpu|cu\d+|rocm[\d.]+)$/.test(parsed.label);
  if (!parsed || labelled) return parsed;
  return { version: parsed.version, label: cuda ? `cu${cuda.split('.').slice(0, 2).join('')}` : undefined };
}
