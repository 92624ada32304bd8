import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { TestNetwork } from '@acc/testkit';
import { patienceWith } from '../patience.js';
import { startRanks, written } from './run-on-hosts.js';

interface Fault {
  readonly code: string;
  readonly message: string;
  /** The time until the error. */
  readonly ms: number;
  /** The time from the signal until the end of the process. */
  readonly endedMs: number;
}

type Verb = 'message' | 'broadcast' | 'reduceScatter';

interface Case {
  readonly verb: Verb;
  /** The rank that has the data. */
  readonly root: number;
  readonly victim: number;
  readonly signal: NodeJS.Signals;
  readonly timeoutMs?: number;
}

const FLOATS = 5_000_000;
// 20 MB take over 3 seconds.
const CABLE = { mbitPerSecond: 50 };

/** The error of the other rank if a rank gets a signal while one message is on its way. */
async function faultAfter({ verb, root, victim, signal, timeoutMs = 60_000 }: Case): Promise<Fault> {
  await using network = await TestNetwork.create({ hosts: 2, cable: CABLE });
  const patience = JSON.stringify(patienceWith('graceMs'));
  const args = [verb, root, timeoutMs, FLOATS, patience].map(String);
  const ranks = startRanks(network, 'one-call.ts', args);
  await Promise.all(ranks.map((rank) => written(rank, 'under way')));
  await sleep(1_000);
  process.kill(-ranks[victim]!.child.pid!, signal);
  const struck = Date.now();
  const { result, output } = await ranks[1 - victim]!.ended;
  expect(result, output).toBeDefined();
  return { ...(result as Fault), endedMs: Date.now() - struck };
}

const CASES = [
  { verb: 'message', root: 0 },
  { verb: 'message', root: 1 },
  { verb: 'broadcast', root: 0 },
  { verb: 'reduceScatter', root: 0 },
] as const;

// When a connection is lost, Gloo does not fail the message that is half transferred.
describe.each(CASES)('a $verb of rank $root, while it is on its way', ({ verb, root }) => {
  it.each([0, 1])('ends with an error if rank %i is killed', async (victim) => {
    const { code, message, ms, endedMs } = await faultAfter({ verb, root, victim, signal: 'SIGKILL' });
    expect(code, message).toBe('ACC_PEER_LOST');
    expect(message).toMatch(new RegExp(`^[^:]*: rank ${victim} has died`));
    expect(ms).toBeLessThan(60_000);
    expect(endedMs).toBeLessThan(60_000);
  });
});

it.each<Verb>(['message', 'broadcast', 'reduceScatter'])(
  'a %s ends with an error if a rank is stopped',
  async (verb) => {
    const stop = { verb, root: 0, victim: 1, signal: 'SIGSTOP', timeoutMs: 5_000 } as const;
    const { code, message, ms } = await faultAfter(stop);
    expect(code, message).toBe('ACC_COLLECTIVE_TIMEOUT');
    expect(message).toMatch(/^[^:]*: rank 1 did not come/);
    expect(ms).toBeLessThan(60_000);
  },
);

it('a message that has arrived is received after the sender has died', async () => {
  await using network = await TestNetwork.create({ hosts: 2 });
  const ranks = startRanks(network, 'received-late.ts');
  const [first] = await Promise.all(ranks.map(({ ended }) => ended));
  expect(first!.result, first!.output).toEqual({ code: 'ACC_PEER_LOST', received: [3, 4] });
});
