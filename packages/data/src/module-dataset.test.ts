import { expect, it } from 'vitest';
import { moduleDataset } from './module-dataset.js';

it('names a module that is missing, and says to check its address', async () => {
  const module = new URL('./no-such-dataset.js', import.meta.url);
  await expect(moduleDataset(module)).rejects.toMatchObject({
    code: 'ACC_DATA_DATASET',
    message: expect.stringContaining('no-such-dataset.js') as string,
    help: expect.stringContaining('address') as string,
  });
});
