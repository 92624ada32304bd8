import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { filesUnder, packageFolders, root, site } from './repository.mjs';

/** Environment variables of the same form, which the sources name in literals as well. */
export const VARIABLES = [
  'ACC_CACHE_DIR',
  'ACC_COLLECTIVE_ENGINE',
  'ACC_COMMAND',
  'ACC_COMMAND_LINE',
  'ACC_CONFIG_FILE',
  'ACC_ERROR_FILE',
  'ACC_IN_LAUNCHED_FUNCTION',
  'ACC_KERNELS_TUNE',
  'ACC_LIBTORCH',
  'ACC_LIBTORCH_URL',
  'ACC_MAX_RESTARTS',
  'ACC_RESCUE_DIR',
  'ACC_RESTART_COUNT',
  'ACC_STACK',
  'ACC_TEST_FRESH_RANKS',
  'ACC_TEST_TRACE_KEPT',
];

/** A literal, or the key of a record at the start of a line: `ACC_STORAGE_FULL: '…'`. */
const LITERAL = /(?:['"]|^\s+)(ACC_[A-Z0-9_]*[A-Z0-9])(?=['":])/gm;

/** Whether a file is a test, or a part of one. */
const isForTests = (path) => /\.test\.[mc]?[jt]s$|(^|\/)(testing|fixtures)\//.test(path);

/** The literals of a form like that of a code, each with the folders of the packages that have it. */
export function literalsInSources() {
  const found = new Map();
  for (const folder of packageFolders) {
    for (const { text } of sourcesOf(folder)) {
      for (const [, name] of text.matchAll(LITERAL)) {
        found.set(name, (found.get(name) ?? new Set()).add(folder));
      }
    }
  }
  return found;
}

function sourcesOf(folder) {
  return ['src', 'cpp'].flatMap((part) => {
    const path = join(root, 'packages', folder, part);
    if (!existsSync(path)) return [];
    return filesUnder(path)
      .filter((file) => /\.(ts|mjs|js|cpp|h)$/.test(file) && !isForTests(file))
      .map((file) => ({ file, text: readFileSync(join(path, file), 'utf8') }));
  });
}

/** The codes that packages throw, each with the folders of the packages that name it. */
export function codesInSources() {
  const codes = [...literalsInSources()].filter(([name]) => !VARIABLES.includes(name));
  return new Map(codes.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The folder of the entries, from the pages of the site. */
export const ERRORS = 'errors';

/** The entries of the pages on errors: code, page, and the text below the heading. */
export function errorEntries() {
  const folder = join(site, 'docs', ERRORS);
  return filesUnder(folder).flatMap((page) =>
    readFileSync(join(folder, page), 'utf8')
      .split(/^## /m)
      .slice(1)
      .filter((section) => section.startsWith('ACC_'))
      .map((section) => {
        const [code, ...lines] = section.split('\n');
        return { code, page, text: lines.join('\n').trim() };
      }),
  );
}
