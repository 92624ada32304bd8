import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { publishedFolders } from '../../scripts/release/published.mjs';

/** The root of the repository. */
export const root = resolve(import.meta.dirname, '..', '..');
/** The folder of the site. */
export const site = join(root, 'site');
/** Where pages are written for VitePress. Not committed. */
export const generated = join(site, '.generated');
export const pagesFolder = join(generated, 'pages');

/** The files below a folder, as paths from it, sorted. */
export function filesUnder(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

export const read = (path) => readFileSync(join(root, path), 'utf8');

/** The folders in `packages`, by name. */
export const packageFolders = readdirSync(join(root, 'packages')).sort();

/** The packages with a document about their inside. */
export const designedPackages = packageFolders.filter((folder) =>
  existsSync(join(root, 'packages', folder, 'DESIGN.md')),
);

export const packageName = (folder) => JSON.parse(read(`packages/${folder}/package.json`)).name;

/** Packages that programs do not import: a command, and what commands use. */
const INNER = ['create-acc-tracker', 'transpile'];

/** The folders of the packages whose public names have a page. */
export const documentedPackages = publishedFolders.filter((folder) => !INNER.includes(folder));
