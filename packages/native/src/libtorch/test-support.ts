import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { libraryFile } from './platform.js';

/** Helpers for the tests of this folder: small copies of torch's layout, on disk and in real zips. */

/** Path → content. */
export type Files = Readonly<Record<string, string>>;

/** A temporary folder that is removed at the end of the scope: `using folder = temporaryFolder()`. */
export function temporaryFolder(): { readonly path: string } & Disposable {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'acc-libtorch-')));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

export function writeFiles(folder: string, files: Files): string {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}

/** The files of a libtorch besides the version file: libraries and a header. */
export const LIBRARY_FILES: Files = {
  [`lib/${libraryFile('torch_cpu')}`]: 'the engine',
  [`lib/${libraryFile('c10')}`]: 'its base',
  [`lib/${libraryFile('torch_python')}`]: 'not needed',
  'include/torch/script.h': '// a header',
};

/** The files of an installed torch package. `version` has torch's form: `2.13.0+cpu`. */
export function torchPackage(version: string): Files {
  return { ...LIBRARY_FILES, 'version.py': `__version__ = '${version}'\ncuda: Optional[str] = None\n` };
}

/** Writes an unpacked official libtorch archive. */
export function writeLibtorch(folder: string, version: string): string {
  return writeFiles(folder, { ...LIBRARY_FILES, 'build-version': `${version}\n` });
}

/** Creates a zip with Python's `zipfile`. */
export function writeZip(path: string, files: Files): string {
  const script =
    'import json, sys, zipfile\n' +
    'z = zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED)\n' +
    'for name, content in json.load(sys.stdin).items(): z.writestr(name, content)\n' +
    'z.close()\n';
  execFileSync('python3', ['-c', script, path], { input: JSON.stringify(files) });
  return path;
}

/** Writes a small official libtorch archive. */
export function writeArchive(path: string, version: string, extra: Files = {}): string {
  const files = { ...LIBRARY_FILES, 'build-version': `${version}\n`, ...extra };
  return writeZip(path, prefixed('libtorch/', files));
}

/** Writes a small torch wheel that `pip` accepts. `record` changes its list of checksums. */
export function writeWheel(
  folder: string,
  version: string,
  record: (lines: string[]) => string[] = (lines) => lines,
): string {
  const files = { ...prefixed('torch/', torchPackage(version)), 'torch/__init__.py': '# Python code\n' };
  const info = `torch-${version}.dist-info`;
  const lines = Object.entries(files).map(
    ([name, content]) => `${name},sha256=${digest(content)},${content.length}`,
  );
  return writeZip(join(folder, `torch-${version}-py3-none-any.whl`), {
    ...files,
    [`${info}/METADATA`]: `Metadata-Version: 2.1\nName: torch\nVersion: ${version}\n`,
    [`${info}/WHEEL`]: 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    [`${info}/RECORD`]: record(lines).join('\n'),
  });
}

function prefixed(prefix: string, files: Files): Files {
  return Object.fromEntries(Object.entries(files).map(([name, content]) => [prefix + name, content]));
}

function digest(content: string): string {
  return createHash('sha256').update(content).digest('base64url');
}
