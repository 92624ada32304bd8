import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { freePort } from '@acc/platform/ports';
import { runAgent } from './agent.js';
import { Coordinator, type CoordinatorOptions } from './coordinator.js';

const job = { token: 'secret', minNodes: 1, maxNodes: 2, hostTimeoutMs: 10_000 };

let said: string[];
beforeEach(() => {
  said = [];
  const write = vi.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0);
  return () => write.mockRestore();
});
const ends: (() => unknown)[] = [];
afterEach(() => ends.splice(0).forEach((end) => end()));

async function started(door: CoordinatorOptions['door']) {
  const port = await freePort('127.0.0.1');
  const coordinator = await Coordinator.start(
    { address: '127.0.0.1', port },
    { ...job, door, maxRestarts: 0, lastCallMs: 0, ownId: 'own' },
  );
  onTestFinished(() => coordinator.close());
  /** A connection that never proves anything, but answers beats in time. */
  const stranger = async (): Promise<{ socket: Socket; closed: Promise<unknown> }> => {
    const socket = connect(port, '127.0.0.1').resume();
    const beats = setInterval(() => socket.write('{}\n'), 5);
    ends.push(
      () => clearInterval(beats),
      () => socket.destroy(),
    );
    socket.on('error', () => {});
    // Not `once` of events: a reset is an end, too.
    const closed = new Promise((resolve) => socket.on('close', resolve));
    await once(socket, 'connect');
    return { socket, closed };
  };
  /** An agent whose ranks run as long as `work`. */
  const agent = (work: () => Promise<unknown>) => {
    const endpoint = { host: '127.0.0.1', port };
    const runRound = async () => (await work(), { outcome: 'left' as const, exitCode: 5 });
    return runAgent({ ...job, id: 'own', endpoint, nproc: 1, runRound });
  };
  return { coordinator, stranger, agent };
}

it('a connection that does not prove itself in time is closed, and an agent that did stays', async () => {
  // More than an agent takes, also on a busy machine.
  const { coordinator, stranger, agent } = await started({ proofMs: 6_000, maxUnprovenBytes: 1e6 });
  const before = await stranger();
  const { exitCode } = await agent(async () => {
    // The time of the agent would be over before that of a later connection.
    const after = await stranger();
    await Promise.all([before.closed, after.closed]);
  });
  expect(exitCode).toBe(5);
  await coordinator.close();
  const told = said.filter((text) => text.includes('did not prove'));
  expect(told[0]).toMatch(/^acc: 1 connection .* at the first host: 1 after 6 s\./);
  expect(told[1]).toMatch(/^acc: 2 connections .*: 2 after 6 s\.\n$/);
});

it('too many connections are closed from the oldest on, and one that sends too much', async () => {
  const { coordinator, stranger, agent } = await started({ maxUnproven: 2, proofMs: 60_000 });
  const first = await stranger();
  const second = await stranger();
  const third = await stranger();
  await first.closed;
  third.socket.write(`${' '.repeat(20_000)}`);
  await third.closed;
  expect(second.socket.closed).toBe(false);
  expect((await agent(async () => {})).exitCode).toBe(5);
  await coordinator.close();
  expect(said.at(-1)).toMatch(
    /^acc: 2 connections .*: 1 because more than 2 were open, 1 after more than 16384 bytes\.\n$/,
  );
});
