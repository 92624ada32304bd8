import { afterAll, describe, expect, it } from 'vitest';
import type { Asked } from '../../fixtures/continuous.js';
import { closeRanks, runOnRanks } from './run-on-ranks.js';

interface Seen {
  readonly pid: number;
  readonly rank: number;
  readonly size: number;
  readonly values?: Float32Array;
  readonly extra?: string;
  /** Of a variable that the program did not name. */
  readonly name: string;
}

const module = new URL('../../fixtures/continuous.ts', import.meta.url);
const run = (args: Asked, more: { env?: Record<string, string>; timeoutMs?: number; group?: object } = {}) =>
  runOnRanks<Seen>({ module, ranks: 2, args, ...(more as { timeoutMs?: number }) });
const pidsOf = (seen: readonly Seen[]) => seen.map(({ pid }) => pid);

afterAll(closeRanks);

describe('runOnRanks', () => {
  it('runs modules one after another in the same processes, and passes values bit for bit', async () => {
    const values = new Float32Array([0.1, NaN, -0]);
    const first = await run({ deed: 'nothing', values });
    expect(first).toMatchObject([
      { rank: 0, size: 2, values },
      { rank: 1, size: 2, values },
    ]);
    expect(pidsOf(await run({ deed: 'forgets a tensor' }))).toEqual(pidsOf(first));
    expect(new Set(pidsOf(first)).size).toBe(2);
  });

  it('names variables alike on all ranks, also after a module in which one rank created more', async () => {
    const uneven = await run({ deed: 'creates variables', ranks: [1] });
    expect(new Set(uneven.map(({ name }) => name)).size).toBe(2);
    const even = await run({ deed: 'nothing' });
    expect(new Set(even.map(({ name }) => name)).size).toBe(1);
  });

  it('starts other processes for another environment and for other options of the group', async () => {
    const first = await run({ deed: 'nothing' });
    const other = await run({ deed: 'nothing' }, { env: { EXTRA: 'yes' } });
    expect(other.map(({ extra }) => extra)).toEqual(['yes', 'yes']);
    const group = await run({ deed: 'nothing' }, { group: { engine: 'gloo' } });
    expect(new Set([first, other, group].flatMap(pidsOf)).size).toBe(6);
  });

  it('names everything that a module leaves behind, and replaces its job', async () => {
    const before = await run({ deed: 'nothing' });
    const left = {
      'keeps a tensor': 'tensors: 3 more',
      'leaves a variable': 'variable left: 1 more',
      'leaves a patch': 'patch of Engine.tidy: 1 more',
      'leaves a listener': 'listeners of process for SIGUSR2: 1 more',
      'leaves a timer': 'timers: 1 more',
      'leaves an open file': 'open files: 1 more',
      'leaves a setting': 'environment variable ACC_LEFT: 1 more',
      'leaves a scope': 'open scopes of tfjs: 1 more',
    };
    await expect(run({ deed: Object.keys(left).join(), ranks: [1] })).rejects.toMatchObject({
      code: 'ACC_RANK_LEFT_BEHIND',
      details: { left: [{ rank: 1, left: expect.arrayContaining(Object.values(left)) as string[] }] },
    });
    const after = await run({ deed: 'nothing' });
    expect(pidsOf(after).some((pid) => pidsOf(before).includes(pid))).toBe(false);
  });

  it.each(['throws', 'ends'])('names the rank that %s while another waits', async (deed) => {
    await expect(run({ deed, ranks: [1] })).rejects.toMatchObject({
      code: 'ACC_RANK_FAILED',
      details: {
        failed: [
          { rank: 0, isLate: true },
          { rank: 1, error: expect.stringMatching(/rank 1 is unwell|exit code 7/) as string },
        ],
      },
    });
  });

  it('ends ranks that take too long', async () => {
    await expect(run({ deed: 'waits for ever' }, { timeoutMs: 3_000 })).rejects.toMatchObject({
      code: 'ACC_RANKS_TIMEOUT',
    });
  });

  it('refuses a wrong number of ranks, unknown options and modules without a default export', async () => {
    await expect(runOnRanks({ module, ranks: 0 })).rejects.toMatchObject({ code: 'ACC_BAD_OPTION' });
    await expect(runOnRanks({ module, ranks: 1, rank: 1 } as never)).rejects.toMatchObject({
      code: 'ACC_UNKNOWN_OPTION',
    });
    const other = new URL('./messages.ts', import.meta.url);
    await expect(runOnRanks({ module: other, ranks: 1 })).rejects.toMatchObject({
      code: 'ACC_RANK_FAILED',
      message: expect.stringContaining('no function as its default export') as string,
    });
  });
});
