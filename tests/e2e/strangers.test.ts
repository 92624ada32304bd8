import { spawn, type ChildProcess } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import fc from 'fast-check';
import { poll } from '@acc/contract';
import { scriptArguments } from '@acc/transpile';

const program = await scriptArguments(fileURLToPath(new URL('./ranks/late-gloo.ts', import.meta.url)));

let folder: string;
let port: number;
let ranks: ChildProcess[];
let outputs: string[];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'acc-strangers-'));
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
  server.close();
  await once(server, 'close');
  const job = {
    WORLD_SIZE: '2',
    MASTER_ADDR: '127.0.0.1',
    MASTER_PORT: String(port),
    ACC_JOB_TOKEN: 'a token',
  };
  outputs = ['', ''];
  ranks = [0, 1].map((rank) => {
    const child = spawn(process.execPath, [...program, folder], {
      env: { ...process.env, OMP_NUM_THREADS: '1', ...job, RANK: String(rank) },
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (outputs[rank] += text));
    }
    return child;
  });
});
afterEach(() => {
  for (const rank of ranks) rank.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

async function exitOf(rank: ChildProcess): Promise<number | null> {
  if (rank.exitCode === null) await once(rank, 'exit');
  return rank.exitCode;
}

/** Lets rank 1 continue. */
const release = (name: string) => writeFileSync(join(folder, name), '');

/** The ports that rank 0 listens on, according to Linux. */
function portsOfRank0(): number[] {
  const processFolder = `/proc/${ranks[0]!.pid}`;
  const sockets = readdirSync(`${processFolder}/fd`).map((fd) => {
    try {
      return readlinkSync(`${processFolder}/fd/${fd}`);
    } catch {
      // The socket was closed between the two reads.
      return '';
    }
  });
  const lines = readFileSync(`${processFolder}/net/tcp`, 'utf8').trim().split('\n').slice(1);
  return lines.flatMap((line) => {
    const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
    const isListening = state === '0A' && sockets.includes(`socket:[${inode}]`);
    return isListening ? [Number.parseInt(local!.split(':')[1]!, 16)] : [];
  });
}

/**
 * The time for which a closed port is observed. It does not answer at all, so a connection is
 * neither made nor refused.
 */
const SHUT_MS = 3_000;

/**
 * Sends bytes, stays connected for a while, and disconnects. Resolves with whether a connection was
 * made within `patienceMs`.
 */
function send(to: number, bytes: Uint8Array, stayMs = 5, patienceMs = 60_000): Promise<boolean> {
  return new Promise((resolve) => {
    let isConnected = false;
    const socket = connect(to, '127.0.0.1');
    let timer = setTimeout(() => socket.destroy(), patienceMs);
    socket.on('connect', () => {
      isConnected = true;
      socket.write(bytes);
      clearTimeout(timer);
      timer = setTimeout(() => socket.destroy(), stayMs);
    });
    // The owner of the port may end the connection first.
    socket
      .on('error', () => {})
      .on('close', () => {
        clearTimeout(timer);
        resolve(isConnected);
      });
  });
}

const words = fc.array(
  fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((n) => new Uint8Array(BigUint64Array.of(n).buffer)),
    fc
      .constantFrom(0n, 1n, 8n, 2n ** 31n, 2n ** 62n, 2n ** 64n - 1n)
      .map((n) => new Uint8Array(BigUint64Array.of(n).buffer)),
  ),
  { maxLength: 6 },
);

/** Bytes that begin like a client of c10d's store, and continue with a random command. */
const storeBytes = fc
  .tuple(fc.boolean(), fc.integer({ min: 0, max: 30 }), words)
  .map(([isValid, command, rest]) => {
    const start = isValid ? [Uint8Array.of(0), new Uint8Array(Uint32Array.of(0x3c85f7ce).buffer)] : [];
    return Buffer.concat([...start, Uint8Array.of(command), ...rest]);
  });

/**
 * Bytes that begin like a Gloo rank with a number that no rank waits for, and continue randomly.
 */
const glooBytes = fc
  .tuple(fc.bigInt({ min: 1000n, max: 2n ** 63n }), words)
  .map(([number, rest]) => Buffer.concat([new Uint8Array(BigInt64Array.of(number).buffer), ...rest]));

it("bytes of strangers at the store and at Gloo's port change nothing, and later nobody can connect", async () => {
  await poll(() => (portsOfRank0().includes(port) ? true : undefined));
  const attack = (to: number, bytes: fc.Arbitrary<Uint8Array>) =>
    fc.assert(
      fc.asyncProperty(bytes, async (some) => {
        expect(await send(to, some)).toBe(true);
      }),
      { numRuns: 300 },
    );
  await attack(port, storeBytes);
  await Promise.all(Array.from({ length: 200 }, () => send(port, randomBytes(3), 300)));
  release('to-the-store');
  const gloo = (await poll(() => portsOfRank0().find((one) => one !== port)))!;
  await attack(gloo, glooBytes);
  await Promise.all(Array.from({ length: 200 }, () => send(gloo, randomBytes(3), 300)));
  release('to-the-group');
  await poll(() => (outputs.every((output) => output.includes('sum 3')) ? true : undefined));
  const ports = portsOfRank0();
  // The ports of the store, of the group of all ranks, and of a sub-group.
  expect(ports).toHaveLength(3);
  const isLetIn = await Promise.all(ports.map((one) => send(one, randomBytes(20), 5, SHUT_MS)));
  expect(isLetIn).toEqual([false, false, false]);
  release('to-the-end');
  const codes = await Promise.all(ranks.map(exitOf));
  expect(codes, outputs.join('\n')).toEqual([0, 0]);
  for (const output of outputs) expect(output).toContain('::result::6');
});

/** c10d's commands: the greeting of a client, and a key with its value. */
const GREETING = Buffer.concat([Uint8Array.of(0), new Uint8Array(Uint32Array.of(0x3c85f7ce).buffer)]);
const sized = (bytes: Uint8Array) =>
  Buffer.concat([new Uint8Array(BigUint64Array.of(BigInt(bytes.length)).buffer), bytes]);
const setCommand = (key: string, value: Uint8Array) =>
  Buffer.concat([Uint8Array.of(1), sized(Buffer.from(key)), sized(value)]);

/** A connection to the store that has sent `bytes`, and ignores errors. */
function stranger(bytes?: Uint8Array): Socket {
  const socket = connect(port, '127.0.0.1')
    .setNoDelay()
    .on('error', () => {});
  // Reads, so that the end of the connection is noticed.
  socket.resume();
  if (bytes) socket.write(bytes);
  return socket;
}

/** Lets the ranks join, and expects that they train as if nothing had happened. */
async function expectToJoin(): Promise<void> {
  for (const name of ['to-the-store', 'to-the-group', 'to-the-end']) release(name);
  const codes = await Promise.all(ranks.map(exitOf));
  expect(codes, outputs.join('\n')).toEqual([0, 0]);
  for (const output of outputs) expect(output).toContain('::result::6');
}

it('connections that send more than a rank, or in more packets, are ended while ranks join', async () => {
  await poll(() => (portsOfRank0().includes(port) ? true : undefined));
  const large = stranger(GREETING);
  large.write(setCommand('large', Buffer.alloc(1_000_000)));
  const many = stranger(GREETING);
  // c10d keeps each packet of an incomplete value in a buffer of its own.
  many.write(setCommand('many', Buffer.alloc(8_000)).subarray(0, -8_000));
  const sending = setInterval(() => many.write(new Uint8Array(1)), 1);
  await Promise.all([once(large, 'close'), once(many, 'close').then(() => clearInterval(sending))]);
  await expectToJoin();
  expect(outputs[0]).toContain(`acc: rank 0 ended 2 connections to port ${port} while ranks joined`);
});

it('connections that say nothing are ended while ranks join, and a rank is let in among too many', async () => {
  await poll(() => (portsOfRank0().includes(port) ? true : undefined));
  let closed = 0;
  for (let index = 0; index < 200; ++index) stranger().on('close', () => closed++);
  // Of two ranks and 64 more connections, each rank may have four.
  await poll(() => (closed >= 200 - (64 + 2 * 4) ? true : undefined));
  release('to-the-store');
  await poll(() => (closed === 200 ? true : undefined));
  await expectToJoin();
  expect(outputs[0]).toContain(`acc: rank 0 ended 200 connections to port ${port} while ranks joined`);
});

it('a store to which strangers have sent too much lets nobody in, and says so', async () => {
  await poll(() => (portsOfRank0().includes(port) ? true : undefined));
  const early = stranger(GREETING);
  const bytes = Buffer.concat([GREETING, setCommand('large', Buffer.alloc(8_000_000))]);
  const isLetIn = () => send(port, bytes, 1_000, SHUT_MS);
  // A busy machine can miss one.
  while ((await isLetIn()) || (await isLetIn()));
  // Rank 0 ends at once if it reads that two processes claim one rank.
  const job = createHash('sha256').update('acc job a token').digest('hex').slice(0, 32);
  early.write(setCommand(`/acc/${job}/member/conflict`, Buffer.from('a conflict')));
  expect(await exitOf(ranks[0]!)).not.toBe(0);
  expect(outputs[0]).toContain('ACC_RENDEZVOUS_CONFLICT');
  expect(outputs[0]).toMatch(
    new RegExp(`rank 0 ended \\d+ connections? to port ${port} .* it let nobody in any more`),
  );
});

it('a stranger without the token that replaces a rank makes the start fail, and receives nothing', async () => {
  await poll(() => (portsOfRank0().includes(port) ? true : undefined));
  release('to-the-store');
  const gloo = (await poll(() => portsOfRank0().find((one) => one !== port)))!;
  // The ports decide which of two ranks Gloo lets connect to the other. The port of rank 1 is not
  // known yet.
  const socket = connect(gloo, '127.0.0.1');
  let received = 0;
  socket.on('error', () => {}).on('data', (data) => (received += data.length));
  socket.write(new Uint8Array(8));
  release('to-the-group');
  const met = () => outputs.every((output) => output.includes('sum 3'));
  await poll(() => (met() || ranks.some(({ exitCode }) => exitCode !== null) ? true : undefined));
  if (!met()) {
    await Promise.all(ranks.map(exitOf));
    expect(outputs.join('\n')).toMatch(/ACC_RENDEZVOUS_FAILED|ACC_JOB_TOKEN|ACC_PEER_LOST/);
  }
  socket.destroy();
  expect(received).toBe(0);
});
