import { describe, expect, it } from 'vitest';
import type { ProcessGroup } from '@acc/native';
import { agreeOnEngine, engineWish, slowWay, type EngineWish } from './engine-choice.js';

const layout = { host: 0, hosts: 1, localRank: 0, localSize: 2, sharesHosts: true };
const agree = (wishes: readonly EngineWish[]) =>
  agreeOnEngine(wishes, layout, () => Promise.resolve({} as ProcessGroup));

const onGpu = (gpu: string): EngineWish => ({ choice: 'auto', isOnGpu: true, gpu });

describe('agreeOnEngine', () => {
  it('chooses shared memory on one host, and NCCL if every rank has its own GPU', async () => {
    expect(await agree([{ choice: 'auto' }, { choice: 'auto' }])).toMatchObject({ engine: 'shm' });
    expect(await agree([onGpu('a'), onGpu('b')])).toMatchObject({ engine: 'nccl' });
  });

  it.each([
    ['two ranks have one GPU', [onGpu('a'), onGpu('a')], 'ranks 0 and 1 use the same GPU'],
    ['one has none', [onGpu('a'), { choice: 'auto' }], 'rank 1: its tensors live on the CPU'],
    ['a rank has no NCCL', [onGpu('a'), { choice: 'auto', isOnGpu: true, obstacle: 'none' }], 'rank 1: none'],
    [
      'a rank with an obstacle shares a GPU',
      [onGpu('a'), { ...onGpu('a'), obstacle: 'none' }],
      'rank 1: none.',
    ],
  ] as const)('chooses Gloo if %s, and states the reason', async (_, wishes, reason) => {
    expect(await agree(wishes)).toMatchObject({ engine: 'gloo', reason: expect.stringContaining(reason) });
  });

  it('refuses a requested engine that cannot be used', async () => {
    const job = { rank: 0, size: 2, masterAddress: '', masterPort: 1, jobToken: '', isOneHost: true };
    const onCpu = engineWish({ ...job, engine: 'nccl' });
    await expect(agree([onCpu, onCpu])).rejects.toMatchObject({ code: 'ACC_ENGINE_UNAVAILABLE' });
    await expect(agree([{ choice: 'shm' }, { choice: 'gloo' }])).rejects.toMatchObject({
      code: 'ACC_ENGINE_MISMATCH',
    });
  });
});

describe('slowWay', () => {
  const reason = 'ranks 0 and 1 use the same GPU';

  it('warns of GPUs whose tensors go through memory of the host', () => {
    expect(slowWay([onGpu('a'), onGpu('a')], { engine: 'gloo', reason })).toContain(reason);
  });

  it('says nothing of NCCL, of CPUs, and of an engine that was asked for', () => {
    expect(slowWay([onGpu('a'), onGpu('b')], { engine: 'nccl', reason })).toBeUndefined();
    expect(slowWay([{ choice: 'auto' }], { engine: 'shm', reason })).toBeUndefined();
    expect(slowWay([{ choice: 'gloo', isOnGpu: true }], { engine: 'gloo', reason })).toBeUndefined();
  });
});
