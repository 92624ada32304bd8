import type { Dirent } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { AccError } from '@acc/contract';
import { asReadError, cannotRead, notFound } from '../errors.js';
import type { FolderPlan } from './options.js';

/** The images of a folder. */
export interface ImageList {
  readonly classes: readonly string[];
  /** The paths below the folder, in the order of samples. */
  readonly paths: readonly string[];
  /** The number of the class of each image. */
  readonly labels: Int32Array;
}

/**
 * Lists `folder/<class>/**` in the order of torchvision's `ImageFolder`: classes by name, then the
 * folders of a class by path, then the files of a folder by name. Links are followed.
 *
 * @throws AccError `ACC_DATA_NOT_FOUND`, `ACC_DATA_READ`, `ACC_DATA_DATASET`.
 */
export async function listImages(
  folder: string,
  { classes: wanted, extensions }: FolderPlan,
): Promise<ImageList> {
  const found = (await list(folder)).folders;
  const unknown = wanted && found.filter((name) => !wanted.includes(name));
  if (unknown && unknown.length > 0) {
    throw notAFolder(
      `${folder} has the folders ${unknown.join(', ')}, which are not among the classes`,
      'Add them to classes, or move them away.',
    );
  }
  const classes = wanted ?? found;
  if (classes.length === 0)
    throw notAFolder(`${folder} has no folders`, 'Put the images of each class into a folder of its own.');
  const walk = { root: folder, extensions, above: [await realpath(folder)] };
  const paths: string[] = [];
  const labels: number[] = [];
  for (const [label, name] of classes.entries()) {
    const images = found.includes(name) ? await imagesBelow(name, walk) : [];
    if (images.length === 0 && !wanted) {
      throw notAFolder(
        `${join(folder, name)} has no images (${extensions.join(', ')})`,
        'Remove the folder, or set extensions to those of its files.',
      );
    }
    for (const image of images) {
      paths.push(image);
      labels.push(label);
    }
  }
  return { classes, paths, labels: Int32Array.from(labels) };
}

/** Where a walk is, and the real paths of the folders that it came through. */
interface Walk {
  readonly root: string;
  readonly extensions: readonly string[];
  readonly above: readonly string[];
}

async function imagesBelow(below: string, { root, extensions, above }: Walk): Promise<string[]> {
  const here = join(root, below);
  const real = await realpath(here);
  if (above.includes(real)) {
    throw notAFolder(`${here} is a link to a folder that it is in: ${real}`, 'Remove the link.');
  }
  const isImage = (name: string) => extensions.includes(extname(name).slice(1).toLowerCase());
  const { files, folders } = await list(here, isImage);
  const images = files.filter(isImage).map((name) => `${below}/${name}`);
  const walk = { root, extensions, above: [...above, real] };
  for (const name of folders) images.push(...(await imagesBelow(`${below}/${name}`, walk)));
  return images;
}

/**
 * The names in a folder, sorted by code points, as Python sorts them.
 *
 * @param isNeeded Whether a file will be read. It has to be a regular one.
 */
async function list(
  folder: string,
  isNeeded: (name: string) => boolean = () => false,
): Promise<{ files: string[]; folders: string[] }> {
  let entries: Dirent[];
  try {
    entries = await readdir(folder, { withFileTypes: true });
  } catch (cause) {
    const what = `The folder ${folder} cannot be read: ${(cause as Error).message}`;
    throw notFound(what, 'Check the path. Relative paths start at the working directory.', cause);
  }
  const files: string[] = [];
  const folders: string[] = [];
  for (const entry of entries) {
    const found = entry.isSymbolicLink() ? await behindLink(join(folder, entry.name)) : entry;
    if (isNeeded(entry.name) && !found.isDirectory() && !found.isFile()) {
      throw cannotRead(join(folder, entry.name), 'it is no file but a pipe, a socket or a device');
    }
    (found.isDirectory() ? folders : files).push(entry.name);
  }
  return { files: files.sort(byCodePoints), folders: folders.sort(byCodePoints) };
}

async function behindLink(path: string): Promise<Pick<Dirent, 'isDirectory' | 'isFile'>> {
  try {
    return await stat(path);
  } catch (error) {
    throw asReadError(path, error);
  }
}

function byCodePoints(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function notAFolder(what: string, help: string): AccError {
  return new AccError('ACC_DATA_DATASET', `imageFolder: ${what}.`, { help });
}
