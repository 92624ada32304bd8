// Which files a test depends on besides the packages: helpers, programs, fixtures.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Texts that may name a file: literals with a path. */
const PATHS = /['"`]((?:\.{1,2}\/|tests\/|examples\/|bench\/|site\/|docs\/|scripts\/)[^'"`\s$]*)['"`]/g;

export interface TestFiles {
  /** The files under `tests`, `examples`, `bench`, `site` that a file names, and those that they name. */
  behind(path: string): ReadonlySet<string>;
  /** Of a test and all files behind it. */
  hashOf(path: string): string;
}

export function testFilesIn(root: string): TestFiles {
  const named = new Map<string, readonly string[]>();
  const namedIn = (path: string): readonly string[] => {
    if (!named.has(path)) named.set(path, filesNamedIn(root, path));
    return named.get(path)!;
  };
  const behind = (path: string): Set<string> => {
    const seen = new Set([path]);
    for (const each of seen) for (const next of namedIn(each)) seen.add(next);
    seen.delete(path);
    return seen;
  };
  const hashOf = (path: string): string => {
    const hash = createHash('sha1');
    for (const each of [path, ...[...behind(path)].sort()]) hash.update(readFileSync(join(root, each)));
    return hash.digest('hex').slice(0, 8);
  };
  return { behind, hashOf };
}

function filesNamedIn(root: string, path: string): string[] {
  if (!/\.(m|c)?[jt]s$/.test(path) || !existsSync(join(root, path))) return [];
  const text = readFileSync(join(root, path), 'utf8');
  const found = [...text.matchAll(PATHS)].flatMap(([, name]) => {
    const at = name!.startsWith('.') ? join(dirname(path), name!) : name!;
    const candidates = [at, at.replace(/\.(m?)js$/, '.$1ts')];
    return candidates.filter(
      (file) => /^(tests|examples|bench|site)\//.test(file) && isFile(join(root, file)),
    );
  });
  return [...new Set(found)];
}

const isFile = (path: string): boolean => existsSync(path) && statSync(path).isFile();
