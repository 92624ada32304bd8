import { join, relative } from 'node:path';
import type { Plugin } from 'vitest/config';
import { folderOfPackage, packageOf, resolveImport } from '../scripts/queue/imports.mjs';

const root = join(import.meta.dirname, '..');

/**
 * A package under test is loaded from its source, and the packages that it imports as they are
 * built, by Node itself. So a test transforms tens of modules instead of hundreds. There is one copy
 * of each module, because no package imports one that depends on it
 * (tests/architecture/imports.test.ts).
 */
export const ownSource: Plugin = {
  name: 'acc-own-source',
  enforce: 'pre',
  resolveId(specifier, importer) {
    if (importer === undefined) return undefined;
    const from = relative(root, importer);
    const [, own] = /^(packages\/[^/]+)\/src\//.exec(from) ?? [];
    const isOwn = specifier.startsWith('#') || (own && folderOfPackage(packageOf(specifier)) === own);
    return isOwn ? join(root, resolveImport(specifier, from)) : undefined;
  },
};
