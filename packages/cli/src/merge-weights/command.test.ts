import { describe, expect, it } from 'vitest';
import { runAcc } from '../../fixtures/run-acc.js';

describe('acc merge-weights', () => {
  it('names the checkpoint that it did not find', async () => {
    const { code, stderr } = await runAcc(['merge-weights', '/no/such/checkpoint', '/no/such/folder']);
    expect(code).toBe(2);
    expect(stderr).toContain('ACC_CHECKPOINT_NOT_FOUND');
    expect(stderr).not.toMatch(/^ {4}at /m);
  });

  it('refuses an invalid size', async () => {
    const { code, stderr } = await runAcc(['merge-weights', 'a', 'b', '--max-shard-size', 'big']);
    expect(code).toBe(2);
    expect(stderr).toContain('ACC_BAD_OPTION');
  });
});
