import { expect, it } from 'vitest';
import type { End } from './messages.js';
import { Rendezvous, type Member } from './rendezvous.js';

it('says how many hosts are there when too few came', async () => {
  const said: string[] = [];
  const rendezvous = new Rendezvous({
    ...{ minNodes: 3, maxNodes: 4, maxRestarts: 0, lastCallMs: 0, joinMs: 1 },
    choosePort: async () => 1,
    say: (text) => void said.push(text),
    onEnd: () => {},
  });
  // Both join before the time is over, because nothing else runs meanwhile.
  const ends = ['a', 'b'].map(
    (host) =>
      new Promise<End>((resolve) => {
        const send: Member['send'] = (message) => message.kind === 'end' && resolve(message);
        rendezvous.join({ host, nproc: 1, isFirst: host === 'a', send });
      }),
  );
  for (const { exitCode, reason } of await Promise.all(ends)) {
    expect(exitCode).toBe(1);
    expect(reason).toBe('only 2 of at least 3 hosts came in 0.001 s');
  }
  expect(said).toContain('b joins');
});
