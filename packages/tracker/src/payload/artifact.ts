import { AccError, type TrackedArtifact, type TrackedFile } from '@acc/contract';
import { basename, files, join, relative, resolve, sep } from '@acc/platform';
import { invalidValue } from '../errors.js';
import { show } from './values.js';

/**
 * Lists the files at `path`, which is a file or a folder, as they are now. Their content is read
 * when a tracker receives them.
 *
 * @throws AccError `ACC_INVALID_ARGUMENT`; `ACC_ARTIFACT_MISSING` if `path` does not exist.
 */
export function takeArtifact(
  name: string,
  path: string,
  type: string,
  caller = 'logArtifact',
): TrackedArtifact {
  for (const [what, value] of Object.entries({ name, path })) {
    if (typeof value !== 'string' || value === '')
      throw invalidValue(caller, `the ${what} is ${show(value)}`, `Write ${caller}('best', 'runs/best').`);
  }
  const root = resolve(path);
  const found = files.look(root);
  const listed = found?.isFolder
    ? filesUnder(root)
    : found
      ? [fileAt(root, basename(root), found.bytes)]
      : [];
  if (listed.length === 0) {
    throw new AccError('ACC_ARTIFACT_MISSING', `${caller}('${name}'): ${root} does not exist.`, {
      help: 'Write it first. If a checkpoint is saved in the background, await saveState.',
    });
  }
  return { name, type, files: listed };
}

function filesUnder(root: string): TrackedFile[] {
  return pathsUnder(root)
    .sort()
    .flatMap((path) => {
      // A file may be deleted after its folder is read.
      const bytes = files.look(path)?.bytes;
      const name = relative(root, path).split(sep).join('/');
      return bytes === undefined ? [] : [fileAt(path, name, bytes)];
    });
}

function pathsUnder(folder: string): string[] {
  return files.list(folder).flatMap(({ name, isFolder, isFile }) => {
    const path = join(folder, name);
    if (isFolder) return pathsUnder(path);
    return isFile ? [path] : [];
  });
}

function fileAt(path: string, name: string, bytes: number): TrackedFile {
  return { name, path, bytes };
}
