import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { AccError, checkKeys } from '@acc/contract';
import { namesOf, type Names } from './names.js';

export interface CreateOptions {
  /** Of the service: the package is `acc-tracker-<name>`. */
  readonly name: string;
  /** Where the package comes; new, or empty. Default: a folder with its name. */
  readonly dir?: string;
}

/** Files that npm leaves out of a package, or that tools take for a package's own, have other names in the template. */
const RENAMED: Readonly<Record<string, string>> = {
  gitignore: '.gitignore',
  github: '.github',
  'manifest.json': 'package.json',
};

/**
 * Writes the source of a tracker that works, its tests, README, and what publishing takes.
 *
 * @returns The package's name and folder, and its files.
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

/** The template's own names are valid in code, so that it is checked like any other. */
function filledIn(text: string, { kebab, camel, pascal, packageName }: Names): string {
  return text
    .replaceAll('acc-tracker-my-service', packageName)
    .replaceAll('my-service', kebab)
    .replaceAll('myService', camel)
    .replaceAll('MyService', pascal);
}
