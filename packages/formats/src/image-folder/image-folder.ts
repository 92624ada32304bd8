import { resolve } from 'node:path';
import { formatInWorker } from '#platform/formats';
import { listImages } from './list-images.js';
import { openImages, type OpenedFolder, type OpenedImages } from './open-images.js';
import { resolveOptions, type ImageFolderOptions } from './options.js';
import { sharePaths } from './shared-paths.js';

export type { ImageSample } from './open-images.js';

/** The images of a folder, for a `DataLoader`. */
export interface ImageFolder extends OpenedImages {
  /** The names of the classes. Their positions are the labels. */
  readonly classes: readonly string[];
  /** The label of each image, for example to weigh classes. */
  readonly labels: Int32Array;
}

/**
 * Reads images from `folder/<class>/*.jpg`, with the classes and the order of torchvision's
 * `ImageFolder`. Samples are `{image, label}`: a batch has `image` `[rows, height, width, channels]`
 * and `label` `[rows]`, int32. Images are decoded by `sharp`, which the program installs. Works
 * with `numWorkers` without a module. The files are listed once, when the dataset is opened.
 *
 * Random augmentation depends on the seed of the loader, the epoch and the number of the sample, so
 * that it is the same with any number of workers and ranks, and after a resume.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_DATA_NOT_FOUND`,
 * `ACC_DATA_DATASET`, `ACC_DATA_PACKAGE`. Reading throws `ACC_DATA_SAMPLE` with the path.
 */
export async function imageFolder(folder: string, options: ImageFolderOptions = {}): Promise<ImageFolder> {
  const plan = resolveOptions(options);
  const root = resolve(folder);
  const { classes, paths, labels } = await listImages(root, plan);
  const shared = new SharedArrayBuffer(labels.byteLength);
  new Int32Array(shared).set(labels);
  const opened: OpenedFolder = {
    folder: root,
    paths: sharePaths(paths),
    labels: shared,
    pixels: plan.pixels,
  };
  const { length, get, nameOf } = await openImages(opened);
  return { classes, labels, length, get, nameOf, inWorker: formatInWorker('imageFolder', opened) };
}
