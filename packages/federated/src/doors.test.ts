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
  // A reset is an end, too.
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.on('close', resolve));
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
    const { coordinator, records } = await coordinatorOf({ rounds: 2, maxUnproven: 5, proofMs: 60_000 });
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

  it('are closed after the time for it, unlike a client that showed it', async () => {
    const said = hear();
    // More than a client takes, also on a busy machine.
    const { coordinator, records } = await coordinatorOf({ rounds: 1, proofMs: 6_000 });
    const silent = await stranger(coordinator);
    const dripping = await stranger(coordinator);
    dripping.socket.write('GET / HTTP/1.1\r\nA: ');
    const drip = setInterval(() => dripping.socket.write('a'), 5);
    onTestFinished(() => clearInterval(drip));
    await clientOf(coordinator, {
      name: 'good',
      train: (own) => async (round) => {
        // The time of the client would be over before that of a later connection.
        const after = await stranger(coordinator);
        await Promise.all([silent.closed, dripping.closed, after.closed]);
        return add(1)(own)(round);
      },
    });
    await coordinator.done;
    expect(records[0]).toMatchObject({ lost: [], extensions: 0 });
    expect(said.at(-1)).toMatch(/^acc: 3 connections .*: 3 after 6 s\.$/);
  });
});
