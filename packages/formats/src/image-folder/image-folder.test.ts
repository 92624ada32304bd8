import { copyFile, mkdir } from 'node:fs/promises';
// It changes the environment, which each file leaves as it was before its tests.
import 'sharp';
import { describe, expect, it } from 'vitest';
import { damaged } from '../testing/damaged-files.js';
import { TemporaryFolder } from '../testing/temporary-folder.js';
import { imageFolder } from './image-folder.js';

/** A PNG file of 20000 × 1 pixels in 365 bytes. */
const thin = damaged('thin-20000x1.png');

describe('an image of 20000 × 1 pixels', () => {
  const open = async (folder: TemporaryFolder, options: Parameters<typeof imageFolder>[1]) => {
    await mkdir(folder.join('class'), { recursive: true });
    await copyFile(thin, folder.join('class/thin.png'));
    return imageFolder(folder.path, options);
  };
  const draw = { seed: 0, epoch: 0 };

  it('is not made 224 pixels high', async () => {
    await using folder = await TemporaryFolder.create();
    const images = await open(folder, { resize: 224 });
    const refused = {
      code: 'ACC_DATA_SAMPLE',
      message: expect.stringMatching(
        /thin\.png\).*the resized image has 224 × 4480000 pixels.*maxPixels/,
      ) as string,
    };
    await expect(images.get(0, draw)).rejects.toThrow(expect.objectContaining(refused) as Error);
  });

  it('is cut to a crop of its resized pixels, of which no others are made', async () => {
    await using folder = await TemporaryFolder.create();
    const images = await open(folder, { resize: 224, crop: 224 });
    const { image } = await images.get(0, draw);
    expect(image.shape).toEqual([224, 224, 3]);
  });

  it('is refused if it has more than maxPixels itself', async () => {
    await using folder = await TemporaryFolder.create();
    const images = await open(folder, { maxPixels: 19_999 });
    await expect(images.get(0, draw)).rejects.toThrow(/thin\.png.*maxPixels \(19999\)/);
  });
});
