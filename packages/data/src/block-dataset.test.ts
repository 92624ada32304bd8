import '@tensorflow/tfjs-backend-cpu';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DataLoader } from './data-loader.js';
import { jsonlDataset } from './jsonl.js';

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);

describe('a dataset of files', () => {
  it('gives the samples of its blocks to lanes, and batches to a loader', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'acc-blocks-'));
    try {
      const lines = numbers(40).map((id) => `{"id":${id},"text":"sample ${id}"}\n`);
      await writeFile(join(folder, 'a.jsonl'), lines.join(''));
      const dataset = await jsonlDataset<{ id: number }, { id: number }>(join(folder, 'a.jsonl'), {
        indexFolder: join(folder, 'index'),
        blockBytes: 100,
        map: ({ id }) => ({ id }),
      });
      expect(dataset.blocks.length).toBeGreaterThan(8);
      const sampler = dataset.sampler({ batchSize: 4, lanes: 2 });
      const loader = new DataLoader(dataset, { batchSize: 4, sampler, seed: 3 });
      const seen: number[] = [];
      for await (const { id } of loader) {
        seen.push(...(await id.data()));
        id.dispose();
      }
      expect(seen).toEqual([...sampler.order({ samples: 40, seed: 3, epoch: 0 })]);
      expect([...seen].sort((a, b) => a - b)).toEqual(numbers(40));
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
