import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { listImages } from './list-images.js';
import { resolveOptions } from './options.js';
import { pathReader, sharePaths } from './shared-paths.js';

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'acc-images-'))));
afterEach(() => rm(folder, { recursive: true }));

async function make(...files: string[]): Promise<void> {
  for (const file of files) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), '');
  }
}

const code = (value: string) => expect.objectContaining({ code: value });
const list = (options = {}) => listImages(folder, resolveOptions(options));

it('sorts classes, folders and files by name, and follows links', async () => {
  await make('b/2.PNG', 'b/10.jpg', 'b/a/z.webp', 'B/x.jpeg', 'ä/1.png', 'b/notes.txt', 'README');
  await symlink(join(folder, 'b', 'a'), join(folder, 'b', 'linked'));
  expect(await list()).toEqual({
    classes: ['B', 'b', 'ä'],
    paths: ['B/x.jpeg', 'b/10.jpg', 'b/2.PNG', 'b/a/z.webp', 'b/linked/z.webp', 'ä/1.png'],
    labels: Int32Array.of(0, 1, 1, 1, 1, 2),
  });
});

it('takes the labels of given classes', async () => {
  await make('dog/1.gif', 'dog/2.png');
  const { classes, labels } = await list({ classes: ['cat', 'dog'], extensions: ['gif'] });
  expect({ classes, labels }).toEqual({ classes: ['cat', 'dog'], labels: Int32Array.of(1) });
  await expect(list({ classes: ['cat'] })).rejects.toThrow(code('ACC_DATA_DATASET'));
});

it('refuses folders without classes or images, and paths that are no folder', async () => {
  await expect(list()).rejects.toThrow(code('ACC_DATA_DATASET'));
  await make('dog/1.txt');
  await expect(list()).rejects.toThrow(code('ACC_DATA_DATASET'));
  await expect(listImages(join(folder, 'none'), resolveOptions({}))).rejects.toThrow(
    code('ACC_DATA_NOT_FOUND'),
  );
});

it.each([
  { randomCrop: true },
  { randomResizedCrop: true },
  { randomResizedCrop: true, crop: 4, resize: 8 },
  { randomResizedCrop: { scale: [1, 0.5] }, crop: 4 },
  { randomCrop: { pad: 4 }, crop: 4 },
  { mean: [0] },
  { std: [1, 1, 1], dtype: 'uint8' },
  { crop: 0 },
  { channels: 2 },
  { dtype: 'int32' },
])('refuses %j', (options) => {
  expect(() => resolveOptions(options as never)).toThrow(
    expect.objectContaining({ code: expect.stringMatching(/^ACC_(INVALID|UNKNOWN)_OPTION$/) }),
  );
});

it('shares paths between threads', () => {
  const paths = ['a/1.png', '', 'ä/日本.png', 'b/2.png'];
  const read = pathReader(sharePaths(paths));
  expect(paths.map((_, i) => read(i))).toEqual(paths);
});

it('refuses links that lead in circles or nowhere, and pipes, with their paths', async () => {
  await make('a/1.png');
  await symlink(folder, join(folder, 'a', 'circle'));
  await expect(list()).rejects.toThrow(/a\/circle is a link to a folder that it is in/);
  await rm(join(folder, 'a', 'circle'));
  await symlink('self', join(folder, 'a', 'self'));
  await expect(list()).rejects.toThrow(code('ACC_DATA_READ'));
  await expect(list()).rejects.toThrow(/a\/self cannot be read: ELOOP/);
  await rm(join(folder, 'a', 'self'));
  await symlink('nowhere', join(folder, 'a', 'gone'));
  await expect(list()).rejects.toThrow(code('ACC_DATA_NOT_FOUND'));
  await rm(join(folder, 'a', 'gone'));
  execFileSync('mkfifo', [join(folder, 'a', 'pipe.png')]);
  await expect(list()).rejects.toThrow(/a\/pipe.png cannot be read: it is no file but a pipe/);
});
