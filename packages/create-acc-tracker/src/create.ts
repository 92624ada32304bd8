import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { AccError, checkKeys } from '@acc/contract';
import { namesOf, type Names } from './names.js';

export interface CreateOptions {
  /** The name of the service. The package is called `acc-tracker-<name>`. */
  readonly name: string;
  /** The folder of the package, new or empty. Default: a folder with its name. */
  readonly dir?: string;
}

/**
 * Some files have other names in the template, because npm would leave them out of a package, or
 * tools would use them for this package.
 */
const RENAMED: Readonly<Record<string, string>> = {
  gitignore: '.gitignore',
  github: '.github',
  'manifest.json': 'package.json',
};

/**
 * Writes the source of a working tracker, its tests, its README, and the files for publishing.
 *
 * @returns The name, folder and files of the package.
 * @throws AccError `ACC_BAD_OPTION`, `ACC_FOLDER_NOT_EMPTY`, `ACC_UNKNOWN_OPTION`.
 */
export function createTrackerPackage(options: CreateOptions): {
  packageName: string;
  dir: string;
  files: string[];
} {
  checkKeys('createTrackerPackage', options, ['name', 'dir']);
  const names = namesOf(options.name);
  const dir = resolve(options.dir ?? names.packageName);
  if (existsSync(dir) && readdirSync(dir).length > 0) {
    throw new AccError('ACC_FOLDER_NOT_EMPTY', `${dir} is not empty.`, {
      help: 'Choose another name, or another folder with --dir.',
    });
  }
  const template = join(import.meta.dirname, '..', 'template');
  const files = filesUnder(template).map((path) => {
    const parts = relative(template, path).split(/[\\/]/);
    const target = parts.map((part) => RENAMED[part] ?? part).join('/');
    mkdirSync(dirname(join(dir, target)), { recursive: true });
    writeFileSync(join(dir, target), filledIn(readFileSync(path, 'utf8'), names));
    return target;
  });
  return { packageName: names.packageName, dir, files: files.sort() };
}

function filesUnder(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/**
 * Replaces the template's names and versions. The names are valid in code, so the template is
 * checked like any other code.
 */
function filledIn(text: string, { kebab, camel, pascal, packageName }: Names): string {
  return text
    .replaceAll('acc-tracker-my-service', packageName)
    .replaceAll('my-service', kebab)
    .replaceAll('myService', camel)
    .replaceAll('MyService', pascal)
    .replaceAll('RELEASE_VERSION', ownVersion());
}

/** The version of this package, which all of our packages have. */
function ownVersion(): string {
  const manifest = readFileSync(join(import.meta.dirname, '..', 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
