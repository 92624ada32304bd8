import * as tf from '@tensorflow/tfjs';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Coordinator } from './coordinator/coordinator.js';
import { add, clientOf, coordinatorOf } from './testing/federation.js';

beforeAll(() => tf.setBackend('cpu'));

/** A connection that shows no token, and a promise of its end. */
async function stranger({ port }: Coordinator): Promise<{ socket: Socket; closed: Promise<unknown> }> {
  const socket = connect(port, '127.0.0.1').resume();
  onTestFinished(() => void socket.destroy());
  const closed = once(socket, 'close');
  await once(socket, 'connect');
  return { socket, closed };
}

/** Collects what the coordinator says about its doors. */
function hear(): string[] {
  const said: string[] = [];
  const warn = vi.spyOn(console, 'warn').mockImplementation((text: string) => {
    if (text.includes('did not prove')) said.push(text);
  });
  onTestFinished(() => warn.mockRestore());
  return said;
}

describe('connections that do not show the token', () => {
  it('are closed from the oldest on if they are too many, and clients join among them', async () => {
    const said = hear();
    const { coordinator, records } = await coordinatorOf({ rounds: 2, maxUnproven: 5 });
    const strangers: Awaited<ReturnType<typeof stranger>>[] = [];
    for (let i = 0; i < 20; i++) strangers.push(await stranger(coordinator));
    await Promise.all(strangers.slice(0, 15).map(({ closed }) => closed));
    expect(strangers.slice(15).map(({ socket }) => socket.closed)).toEqual(Array(5).fill(false));
    const { member } = await clientOf(coordinator, { name: 'good', train: add(1) });
    await coordinator.done;
    expect((await member.done).status).toBe('completed');
    expect(records.map(({ lost }) => lost)).toEqual([[], []]);
    // The client took the place of one more.
    expect(said).toHaveLength(2);
    expect(said[0]).toMatch(/^acc: 1 connection that did not prove .* more than 5 were open/);
    expect(said[1]).toMatch(
      /^acc: 16 connections that did not prove .*: 16 because more than 5 were open\.$/,
    );
  });

  it('are closed after the time for it, also those that send without an end', async () => {
    const said = hear();
    const { coordinator } = await coordinatorOf({ rounds: 1, proofMs: 50 });
    const silent = await stranger(coordinator);
    const dripping = await stranger(coordinator);
    dripping.socket.on('error', () => {});
    dripping.socket.write('GET / HTTP/1.1\r\nA: ');
    const drip = setInterval(() => dripping.socket.write('a'), 5);
    onTestFinished(() => clearInterval(drip));
    await Promise.all([silent.closed, dripping.closed]);
    await clientOf(coordinator, { name: 'good', train: add(1) });
    await coordinator.done;
    expect(said.at(-1)).toMatch(/^acc: 2 connections .*: 2 after 0\.05 s\.$/);
  });

  it('do not take the place of clients, which have no time limit once they showed it', async () => {
    const { coordinator, records } = await coordinatorOf({ rounds: 3, proofMs: 20, maxUnproven: 1 });
    let strangersClosed = 0;
    await clientOf(coordinator, {
      name: 'good',
      train: (own) => async (round) => {
        const { closed } = await stranger(coordinator);
        await closed;
        strangersClosed++;
        return add(1)(own)(round);
      },
    });
    await coordinator.done;
    expect(strangersClosed).toBe(3);
    expect(records.map(({ lost }) => lost)).toEqual([[], [], []]);
  });
});
