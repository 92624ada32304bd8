import { describe, expect, it } from 'vitest';
import { runRanks } from '@acc/testkit';

const script = new URL('./ranks/subgroups.ts', import.meta.url);

interface Fault {
  readonly code: string;
  readonly message: string;
}

interface Found {
  readonly mismatch?: Fault;
  readonly before: number;
  readonly lostByPair?: Fault;
  readonly lostByAll: Fault;
  readonly after?: number;
  readonly closed: string;
}

// The published suite tests the rules of sub-groups, see conformance.test.ts.
describe.each(['shm', 'gloo'])('sub-groups of ranks 2 and 0, and of rank 1, over %s', (engine) => {
  it('name failures with ranks of the sub-group and of the job, and leave other groups usable', async () => {
    const env = { OMP_NUM_THREADS: '1' };
    const results = await runRanks<Found>({ script, ranks: 3, args: [engine], env });
    const [first, second, third] = results;
    expect(third!.signal, third!.stderr).toBe('SIGKILL');
    expect(first!.result, first!.stderr).toBeDefined();
    expect(second!.result, second!.stderr).toBeDefined();
    const [own, other] = [first!.result!, second!.result!];
    expect(own.mismatch).toMatchObject({ code: 'ACC_COLLECTIVE_MISMATCH' });
    expect(own.mismatch!.message).toMatch(/^ {2}rank 0 \(world rank 2\): allReduce\(float32\[6\]/m);
    expect(own.mismatch!.message).toMatch(/^ {2}rank 1 \(world rank 0\): allReduce\(float32\[4\]/m);
    expect(own.lostByPair).toMatchObject({ code: 'ACC_PEER_LOST' });
    expect(own.lostByPair!.message).toMatch(/call \d+: rank 0 \(world rank 2\).* has died/);
    for (const { before, lostByAll, closed } of [own, other]) {
      expect(before).toBe(3);
      expect(lostByAll.code).toBe('ACC_PEER_LOST');
      expect(lostByAll.message).toMatch(/call \d+: rank 2\b.* has died/);
      expect(closed).toBe('ACC_COLLECTIVE_CLOSED');
    }
    // No rank of its group was lost.
    expect(other.after).toBe(1);
    expect([other.mismatch, other.lostByPair]).toEqual([undefined, undefined]);
  });
});
