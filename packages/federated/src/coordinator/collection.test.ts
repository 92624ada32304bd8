import { describe, expect, it } from 'vitest';
import { Collection, type CollectedUpdate } from './collection.js';
import { meanMetrics } from './round-record.js';
import { sampleClients } from './sampling.js';
import { Tickets } from './tickets.js';

const update = (client: string): CollectedUpdate => ({
  ...{ client, samples: 1, norm: 1, isClipped: false, metrics: {} },
  update: new Float32Array(1),
});

describe('a round', () => {
  it('is complete when all have answered, and the number that it needs is there', () => {
    const round = new Collection({ minClients: 2, enoughClients: undefined });
    for (const client of ['b', 'a', 'c']) round.ask(client);
    round.take(update('b'));
    round.dismiss('c');
    expect([round.isComplete, round.missing, round.waitingFor]).toEqual([false, 1, ['a']]);
    round.take(update('a'));
    expect([round.isComplete, round.updates.map(({ client }) => client)]).toEqual([true, ['a', 'b']]);
  });

  it('asks a lost client again, and one that was refused after the deadline', () => {
    const round = new Collection({ minClients: 1, enoughClients: undefined });
    round.ask('a');
    round.ask('b');
    round.lose('a');
    round.dismiss('b');
    expect([round.mayAsk('a'), round.mayAsk('b'), round.mayAsk('new')]).toEqual([true, false, true]);
    expect([round.isComplete, round.lost]).toEqual([false, ['a']]);
    round.extend();
    expect(round.mayAsk('b')).toBe(true);
    round.ask('a');
    round.take(update('a'));
    expect([round.isComplete, round.lost]).toEqual([true, []]);
  });

  it('keeps the update of a client that leaves after it', () => {
    const round = new Collection({ minClients: 1, enoughClients: undefined });
    round.ask('a');
    round.take(update('a'));
    round.lose('a');
    expect([round.isComplete, round.lost]).toEqual([true, []]);
  });

  it('ends early with enough updates', () => {
    const round = new Collection({ minClients: 1, enoughClients: 2 });
    for (const client of ['a', 'b', 'c']) round.ask(client);
    round.take(update('a'));
    expect(round.isComplete).toBe(false);
    round.take(update('c'));
    expect([round.isComplete, round.waitingFor]).toEqual([true, ['b']]);
  });
});

describe('the choice of clients', () => {
  const names = Array.from({ length: 20 }, (_, i) => `client-${i}`);

  it('is that of the seed and the round, whatever the order of joining', () => {
    const choice = sampleClients(names, 5, { seed: 3, round: 7 });
    expect(sampleClients([...names].reverse(), 5, { seed: 3, round: 7 })).toEqual(choice);
    expect(new Set(choice).size).toBe(5);
    expect(sampleClients(names, 5, { seed: 4, round: 7 })).not.toEqual(choice);
    expect(sampleClients(names, 5, { seed: 3, round: 8 })).not.toEqual(choice);
    expect(sampleClients(names, 50, { seed: 3, round: 7 })).toEqual([...names].sort());
  });

  it('is even', () => {
    const counts = new Map(names.map((name) => [name, 0]));
    for (let round = 0; round < 4_000; round++) {
      for (const name of sampleClients(names, 5, { seed: 1, round })) counts.set(name, counts.get(name)! + 1);
    }
    // 1,000 expected, with a standard deviation of 27.
    for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(140);
  });
});

describe('tickets', () => {
  const code = (name: string) => expect.objectContaining({ code: `ACC_FEDERATED_${name}` }) as unknown;

  it('are used once, by their client, in their round', () => {
    const tickets = new Tickets(10);
    const [a, b] = [tickets.issue('a', 4), tickets.issue('b', 4)];
    expect(() => tickets.redeem(a, 'b', 4)).toThrow(code('LATE'));
    tickets.redeem(a, 'a', 4);
    expect(() => tickets.redeem(a, 'a', 4)).toThrow(code('REPLAYED'));
    tickets.expire();
    expect(() => tickets.redeem(b, 'b', 5)).toThrow(/round 4, .*round 5 is under way/);
    expect(() => tickets.redeem('none', 'a', 5)).toThrow(code('LATE'));
  });

  it('of a lost client end, and old ones are forgotten', () => {
    const tickets = new Tickets(2);
    const [a, b] = [tickets.issue('a', 0), tickets.issue('b', 0)];
    tickets.expire('a');
    expect(() => tickets.redeem(a, 'a', 0)).toThrow(code('LATE'));
    tickets.issue('c', 0);
    tickets.redeem(b, 'b', 0);
    expect(() => tickets.redeem(a, 'a', 0)).toThrow(/too many rounds ago/);
  });
});

it('metrics are averaged over the samples of the clients that report them', () => {
  const report = (samples: number, metrics: Record<string, number>) => ({ ...update('x'), samples, metrics });
  expect(meanMetrics([report(1, { loss: 2, only: 5 }), report(3, { loss: 6 })])).toEqual({
    loss: 5,
    only: 5,
  });
});
