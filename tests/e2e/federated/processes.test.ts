import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as tf from '@tensorflow/tfjs';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { openWeights } from '@acc/checkpoint';
import { startCoordinator, type RoundRecord } from '@acc/federated';
import { kernelLayerOf } from '@acc/kernels';
import { onRanks } from '../on-ranks.js';
import { provideDebianPackages } from '../../debian-packages.js';
import { startProgram } from './programs.js';
import { lossOf, rowsOfRank } from './rows.js';

beforeAll(() => tf.setBackend('cpu'));

const plus = (amount: number) => [1, 2, 3, 4].map((value) => value + amount).join();

it('a coordinator that is killed continues with the same weights; clients find it again', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'acc-federated-'));
  const start = (port: string, ...hold: string[]) =>
    startProgram('resume-coordinator.ts', [folder, port, '6', ...hold]);
  const killed = await start('0', '2');
  const [, port, firstRound, firstWeights] = await killed.line(/^listening (\d+) (\d+) (.*)$/);
  expect([firstRound, firstWeights]).toEqual(['0', plus(0)]);
  const url = `ws://127.0.0.1:${port}`;
  const clients = await Promise.all([
    startProgram('client.ts', [url, 'a', '1']),
    startProgram('client.ts', [url, 'b', '3']),
  ]);
  // Each round adds 2. Round 2 is done, but not saved.
  await killed.line(/^done 2 /);
  killed.kill('SIGKILL');
  expect(await killed.ended).toBe(null);

  const second = await start(port!);
  const [, , round, weights] = await second.line(/^listening (\d+) (\d+) (.*)$/);
  expect([round, weights]).toEqual(['2', plus(4)]);
  expect((await second.line(/^done (\d+) (.*)$/)).slice(1)).toEqual(['2', plus(6)]);
  await second.line(/^completed /);
  expect(await Promise.all([second, ...clients].map(({ ended }) => ended))).toEqual([0, 0, 0]);
  for (const program of [second, ...clients]) expect(program.output()).toContain(`completed ${plus(12)}\n`);

  // One run of the trackers, which the second process continued.
  const runs = await readdir(join(folder, 'runs', 'federated'));
  expect(runs).toHaveLength(1);
  const lines = (await readFile(join(folder, 'runs', 'federated', runs[0]!, 'metrics.jsonl'), 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const text = JSON.stringify(lines);
  expect(text).toContain('"clients/amount":2');
  expect(text).toContain('"federated/samples":2');

  // The weights of the last checkpoint, as any other program reads them.
  const saved = (await readdir(join(folder, 'checkpoints'))).sort().at(-1)!;
  const [stored] = await openWeights(join(folder, 'checkpoints', saved));
  expect([stored!.name, stored!.shape]).toEqual(['weights', [2, 2]]);
  const read = await stored!.read(kernelLayerOf('cpu', tf.backend()).state);
  expect(Array.from(read.dataSync()).join()).toBe(plus(12));
});

it('a client that stands still and one that is killed are lost; the round goes on with another one', async () => {
  const weights = tf.variable(tf.tensor2d([1, 2, 3, 4], [2, 2]));
  const records: RoundRecord[] = [];
  const coordinator = await startCoordinator({
    ...{ variables: [weights], rounds: 2, token: 'a token of the test', minClients: 2, heartbeatMs: 300 },
    onRound: (record) => void records.push(record),
  });
  onTestFinished(() => coordinator.close());
  const { url } = coordinator;
  const still = await startProgram('client.ts', [url, 'still', '1', 'hold']);
  const dies = await startProgram('client.ts', [url, 'dies', '1']);
  await still.line(/^trains 0 /);
  await dies.line(/^accepted 0$/);
  still.kill('SIGSTOP');
  dies.kill('SIGKILL');
  await until(() => coordinator.clients.length === 0);
  await startProgram('client.ts', [url, 'new', '3']);
  await until(() => coordinator.round === 1);
  // It finds that it was lost, and joins again.
  still.kill('SIGCONT');
  await coordinator.done;
  await still.line(/^completed /);
  expect(await still.ended).toBe(0);
  const clients = records.map(({ updates }) => updates.map(({ client }) => client));
  expect(clients).toEqual([
    ['dies', 'new'],
    ['new', 'still'],
  ]);
  expect(records[0]!.lost).toEqual(['still']);
  // (1 + 3) / 2 in each round.
  expect(Array.from(weights.dataSync()).join()).toBe(plus(4));
});

it('a job of two ranks is one client, and trains as one program with all rows does', async () => {
  const weights = tf.variable(tf.ones([4, 2]));
  const rounds = 3;
  const coordinator = await startCoordinator({ variables: [weights], rounds });
  onTestFinished(() => coordinator.close());
  const module = new URL('./ranks.ts', import.meta.url);
  const { url, token } = coordinator;
  const env = { OMP_NUM_THREADS: '1' };
  const results = await onRanks<number[]>({ module, ranks: 2, args: { url, token }, env });
  const alone = tf.variable(tf.ones([4, 2]));
  const parts = [rowsOfRank(tf, 0), rowsOfRank(tf, 1)];
  const rows = { x: tf.concat(parts.map(({ x }) => x)), y: tf.concat(parts.map(({ y }) => y)) };
  const optimizer = tf.train.sgd(0.1);
  for (let round = 0; round < rounds; round++)
    optimizer.minimize(() => lossOf(tf, alone, rows), false, [alone]);
  const [actual, expected] = [weights.dataSync(), alone.dataSync()];
  expect(actual).not.toEqual(new Float32Array(8).fill(1));
  expected.forEach((value, i) => expect(Math.abs(actual[i]! - value)).toBeLessThan(1e-6));
  // Rank 0 has the final weights.
  expect(results[0]).toEqual(Array.from(actual));
});

it('over TLS', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'acc-federated-'));
  provideDebianPackages({ openssl: 'openssl' }, 'Tests with TLS');
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const kind = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  await promisify(execFile)('openssl', [...kind, '-days', '2', '-keyout', key, '-out', cert, ...subject]);
  const weights = tf.variable(tf.tensor2d([1, 2, 3, 4], [2, 2]));
  const coordinator = await startCoordinator({
    ...{ variables: [weights], rounds: 1, token: 'a token of the test' },
    tls: { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') },
  });
  onTestFinished(() => coordinator.close());
  expect(coordinator.url).toMatch(/^wss:/);
  const stranger = await startProgram('client.ts', [coordinator.url, 'stranger', '1']);
  await stranger.line(/ACC_FEDERATED_UNREACHABLE/);
  // A connection that never begins its TLS handshake does not hold up the end.
  const silent = connect(coordinator.port, '127.0.0.1');
  await once(silent, 'connect');
  const client = await startProgram('client.ts', [coordinator.url, 'a', '1'], { NODE_EXTRA_CA_CERTS: cert });
  await coordinator.done;
  if (!silent.closed) await once(silent, 'close');
  expect([await client.ended, await stranger.ended]).toEqual([0, 1]);
  expect(Array.from(weights.dataSync()).join()).toBe(plus(1));
});

/** The coordinator has no event for it: it is noticed in the next turn of the event loop. */
async function until(isMet: () => boolean): Promise<void> {
  while (!isMet()) await new Promise((resolve) => setTimeout(resolve, 10));
}
