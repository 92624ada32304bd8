import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { Doors, type DoorLimits } from './doors.js';

/** A server whose connections prove nothing, what it says, and a way to connect to it. */
async function doorsOf(limits: DoorLimits) {
  const said: string[] = [];
  const doors = new Doors(limits, 'here', (text) => said.push(text));
  const server = createServer((socket) => doors.watch(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  onTestFinished(() => void server.close());
  onTestFinished(() => doors.close());
  const visit = async (localAddress = '127.0.0.1'): Promise<Socket> => {
    const socket = connect({ port, host: '127.0.0.1', localAddress }).resume();
    socket.on('error', () => {});
    onTestFinished(() => void socket.destroy());
    const accepted = once(server, 'connection');
    await once(socket, 'connect');
    await accepted;
    return socket;
  };
  return { doors, said, visit };
}

async function endOf(socket: Socket): Promise<void> {
  if (!socket.closed) await once(socket, 'close');
}

const patient = { maxUnproven: 3, proofMs: 60_000 };

it('many connections of one address do not take the place of another', async () => {
  const { doors, said, visit } = await doorsOf(patient);
  const first = await visit('127.0.0.2');
  const others = [];
  for (let i = 0; i < 6; i++) others.push(await visit());
  await Promise.all(others.slice(0, 4).map(endOf));
  expect([first, ...others.slice(4)].map((socket) => socket.closed)).toEqual([false, false, false]);
  const ended = once(first, 'close');
  doors.close();
  await ended;
  const crowded = 'because more than 3 were open.';
  expect(said).toEqual([
    `1 connection that did not prove to know the token was closed at here: 1 ${crowded} Further ones are only counted.`,
    `4 connections that did not prove to know the token were closed at here: 4 ${crowded}`,
  ]);
});

it('what a connection sends before the proof is limited', async () => {
  const { said, visit } = await doorsOf({ ...patient, maxUnprovenBytes: 1_000 });
  const [quiet, loud] = [await visit(), await visit()];
  quiet.write(new Uint8Array(1_000));
  loud.write(new Uint8Array(1_001));
  await once(loud, 'close');
  expect(quiet.closed).toBe(false);
  expect(said).toEqual([
    '1 connection that did not prove to know the token was closed at here: 1 after more than 1000 bytes. Further ones are only counted.',
  ]);
});

it('a connection that wraps another one is watched in its place', async () => {
  const said: string[] = [];
  const doors = new Doors({ maxUnproven: 1, proofMs: 60_000 }, 'here', (text) => said.push(text));
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const ends = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')] as const;
  onTestFinished(() => ends.forEach((end) => end.destroy()));
  await Promise.all(ends.map((end) => once(end, 'connect')));
  const [plain, wrapping] = ends;
  doors.watch(plain);
  doors.replace(plain, wrapping);
  expect(said).toEqual([]);
  doors.close();
  expect([plain.destroyed, wrapping.destroyed]).toEqual([false, true]);
});
