import { readdirSync, statSync, type Stats } from 'node:fs';
import { basename, join, relative, resolve, sep } from 'node:path';
import { AccError, type TrackedArtifact, type TrackedFile } from '@acc/contract';

/**
 * Lists the files at `path`, which is a file or a folder, as they are now. Their content is read
 * when a tracker receives them.
 *
 * @throws AccError `ACC_ARTIFACT_MISSING` if `path` does not exist.
 */
export function takeArtifact(name: string, path: string, type: string): TrackedArtifact {
  const root = resolve(path);
  const stats = statSync(root, { throwIfNoEntry: false });
  const files = stats?.isDirectory() ? filesUnder(root) : stats ? [fileAt(root, basename(root), stats)] : [];
  if (files.length === 0) {
    throw new AccError('ACC_ARTIFACT_MISSING', `logArtifact('${name}'): ${root} does not exist.`, {
      help: 'Write it first. If a checkpoint is saved in the background, await saveState.',
    });
  }
  return { name, type, files };
}

function filesUnder(root: string): TrackedFile[] {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return paths.sort().map((path) => fileAt(path, relative(root, path).split(sep).join('/'), statSync(path)));
}

function fileAt(path: string, name: string, { size }: Stats): TrackedFile {
  return { name, path, bytes: size };
}
