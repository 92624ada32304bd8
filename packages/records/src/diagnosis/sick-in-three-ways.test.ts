import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { diagnose } from '../read-records.js';

const path = fileURLToPath(new URL('../testing/runs/a-program-that-is-sick-in-three-ways', import.meta.url));

it('a run with three causes names each of them: memory, communication, balance', async () => {
  const { findings } = await diagnose(path);
  const [memory, communication, balance] = ['leak', 'small-buckets', 'slow-rank'].map((id) =>
    findings.find((finding) => finding.id === id),
  );
  expect(memory!.severity).toBe('critical');
  expect(communication!.change).toMatchObject({ option: 'ddp.bucketBytes', from: 4096 });
  expect(balance).toMatchObject({ ranks: [0] });
  expect(balance!.cause).toContain('the code of its loop');
});
