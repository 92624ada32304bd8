import * as tf from '@tensorflow/tfjs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { freePort } from '@acc/testkit';
import { joinFederation } from './client/join-in-node.js';
import type { FederationOptions } from './client/options.js';
import type { RefusedUpdate } from './client/options.js';
import type { Coordinator } from './coordinator/coordinator.js';
import { decodeFrame } from './protocol/frame.js';
import { add, clientOf, coordinatorOf, gate, linear, valuesOf } from './testing/federation.js';
import { rawClient, socketTo } from './testing/raw-client.js';

beforeAll(() => tf.setBackend('cpu'));

const refusal = (code: string) => ({ code: `ACC_FEDERATED_${code}` });

describe('clients that come and go', () => {
  it('a late update is refused with its round, and its client goes on', async () => {
    const late = gate();
    const refused: RefusedUpdate[] = [];
    const told = gate();
    const { coordinator, model, records } = await coordinatorOf({
      ...{ rounds: 3, waitForClients: 2, enoughClients: 1 },
      onRound: async ({ round }) => {
        // The first round has ended without the slow client. The others wait for its answer.
        if (round === 0) late.open();
        if (round === 0) await told.passed;
      },
    });
    const before = valuesOf(model);
    const slow = await clientOf(coordinator, {
      name: 'slow',
      onRefused: (each) => {
        refused.push(each);
        told.open();
      },
      train: (own) => async (round) => {
        if (round.round === 0) await late.passed;
        return add(1)(own)(round);
      },
    });
    await clientOf(coordinator, { name: 'fast', train: add(1) });
    await coordinator.done;
    // Whoever answers second in a later round is late, too.
    expect(refused.slice(0, 1)).toEqual([
      { ...refusal('LATE'), round: 1, message: expect.stringContaining('round 0') as string },
    ]);
    expect(records.map(({ asked, updates }) => [asked.length, updates.length])).toEqual([
      [2, 1],
      [2, 1],
      [2, 1],
    ]);
    expect(records[0]!.updates[0]!.client).toBe('fast');
    expect(records[1]!.refused).toEqual({ ACC_FEDERATED_LATE: 1 });
    expect(valuesOf(model)[0]! - before[0]!).toBeCloseTo(3, 5);
    expect((await slow.member.done).status).toBe('completed');
  });

  it('a lost client is replaced, and one that joins has the current weights at once', async () => {
    const { coordinator, model, records } = await coordinatorOf({ rounds: 2, minClients: 2 });
    const start = valuesOf(model);
    const inRound1 = gate();
    const never = gate();
    await clientOf(coordinator, { name: 'stays', train: add(1) });
    const leaving = await clientOf(coordinator, {
      name: 'leaves',
      train: (own) => async (round) => {
        if (round.round === 0) return add(1)(own)(round);
        inRound1.open();
        await never.passed;
        return { samples: 1 };
      },
    });
    await inRound1.passed;
    await leaving.member.leave();
    const joining = linear(50);
    const member = await joinFederation({
      ...{ url: coordinator.url, token: coordinator.token, name: 'joins', variables: joining.variables },
      train: add(3)(joining),
    });
    onTestFinished(async () => void (await member.leave()));
    // It has what the first round left, before it trains.
    const joined = start.map((value) => expect.closeTo(value + 1, 5) as number);
    expect([joined, start.map((value) => expect.closeTo(value + 4, 5) as number)]).toContainEqual(
      valuesOf(joining),
    );
    await coordinator.done;
    expect(records[1]!.lost).toEqual(['leaves']);
    expect(records[1]!.updates.map(({ client }) => client)).toEqual(['joins', 'stays']);
    // (1 + 3) / 2
    expect(valuesOf(model)[0]! - start[0]!).toBeCloseTo(1 + 2, 5);
    never.open();
  });

  it('a round without enough updates at its deadline is extended, and says so', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    onTestFinished(() => warn.mockRestore());
    const { coordinator, records } = await coordinatorOf({
      ...{ rounds: 1, minClients: 2, waitForClients: 2, deadlineMs: 100 },
    });
    const extended = gate();
    warn.mockImplementation(
      (text: string) => void (text.startsWith('acc: round 0 has 1 of the 2') && extended.open()),
    );
    await clientOf(coordinator, { name: 'fast', train: add(1) });
    await clientOf(coordinator, {
      name: 'slow',
      train: (own) => async (round) => {
        await extended.passed;
        return add(1)(own)(round);
      },
    });
    await coordinator.done;
    expect(records[0]!.extensions).toBeGreaterThanOrEqual(1);
    expect(records[0]!.updates).toHaveLength(2);
  });

  it('a client that cannot reach the coordinator says so; one that loses it tries again', async () => {
    const port = await freePort('127.0.0.1');
    const options = { url: `ws://127.0.0.1:${port}`, token: 'a token of the test' };
    const lone = linear();
    await expect(
      joinFederation({ ...options, variables: lone.variables, train: add(1)(lone) }),
    ).rejects.toMatchObject(refusal('UNREACHABLE'));

    const first = await coordinatorOf({
      rounds: 1,
      port,
      token: options.token,
      waitForClients: 2,
      minClients: 2,
    });
    const { member } = await clientOf(options, { name: 'stays', train: add(1) });
    await first.coordinator.close();
    const second = await coordinatorOf({ rounds: 1, port, token: options.token });
    await second.coordinator.done;
    expect(await member.done).toEqual({ status: 'completed', accepted: 1, refused: 0 });
    expect(await first.coordinator.done).toEqual({ status: 'closed', rounds: 0 });
  });

  it('a client that still trains in the last round gets the final weights when it has ended', async () => {
    const { coordinator, model } = await coordinatorOf({ rounds: 1, waitForClients: 2, enoughClients: 1 });
    const hasEnded = gate();
    const slow = await clientOf(coordinator, {
      ...{ name: 'slow', reconnectMs: 0 },
      train: (own) => async (round) => {
        await hasEnded.passed;
        return add(7)(own)(round);
      },
    });
    await clientOf(coordinator, { name: 'fast', train: add(1) });
    await coordinator.done;
    hasEnded.open();
    expect(await slow.member.done).toEqual({ status: 'completed', accepted: 0, refused: 0 });
    expect(valuesOf(slow.model)).toEqual(valuesOf(model));
  });

  it('one with the name of another takes its place, also at maxClients', async () => {
    const { coordinator, records } = await coordinatorOf({ rounds: 1, maxClients: 1 });
    const never = gate();
    const first = await clientOf(coordinator, {
      name: 'same',
      train: () => () => never.passed.then(() => ({ samples: 1 })),
    });
    const replaced = expect(first.member.done).rejects.toMatchObject(refusal('REPLACED'));
    const second = await clientOf(coordinator, { name: 'same', train: add(1) });
    await Promise.all([replaced, coordinator.done]);
    expect(await second.member.done).toMatchObject({ status: 'completed', accepted: 1 });
    expect(records[0]!.updates.map(({ client }) => client)).toEqual(['same']);
    never.open();
  });

  it('one that still trains for a lost connection joins again, and trains when it has ended', async () => {
    const port = await freePort('127.0.0.1');
    const options = { port, token: 'a token of the test' };
    const first = await coordinatorOf({ rounds: 1, ...options });
    const [inRound, hasEnded] = [gate(), gate()];
    const { member } = await clientOf(first.coordinator, {
      name: 'slow',
      train: (own) => async (round) => {
        inRound.open();
        await hasEnded.passed;
        return add(1)(own)(round);
      },
    });
    await inRound.passed;
    await first.coordinator.close();
    const second = await coordinatorOf({ rounds: 1, ...options, heartbeatMs: 50 });
    const hasSlow = () => second.coordinator.clients.includes('slow');
    while (!hasSlow()) await new Promise((resolve) => setTimeout(resolve, 5));
    // It loses a client that joins later and says no hello.
    const silent = socketTo(second.coordinator, {}, '/?name=silent');
    await new Promise((resolve) => silent.once('close', resolve));
    expect(second.coordinator.clients).toEqual(['slow']);
    hasEnded.open();
    await second.coordinator.done;
    expect(await member.done).toEqual({ status: 'completed', accepted: 1, refused: 0 });
  });

  it('those of a finished run that is resumed get its weights', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'acc-federated-'));
    onTestFinished(() => rm(dir, { recursive: true }));
    const shared = { port: await freePort('127.0.0.1'), token: 'a token of the test', checkpoint: { dir } };
    const first = await coordinatorOf({ rounds: 2, ...shared });
    const [inRound1, never] = [gate(), gate()];
    const client = await clientOf(first.coordinator, {
      name: 'stays',
      train: (own) => (round) => {
        if (round.round === 0) return add(1)(own)(round);
        inRound1.open();
        return never.passed.then(() => ({ samples: 1 }));
      },
    });
    await inRound1.passed;
    // It ends after the checkpoint of round 0, which is all that the second one asks for.
    await first.coordinator.close();
    const { variables } = first.model;
    const second = await coordinatorOf({ rounds: 1, variables, ...shared, resume: true });
    expect(await second.coordinator.done).toEqual({ status: 'completed', rounds: 1 });
    never.open();
    expect((await client.member.done).status).toBe('completed');
    expect(valuesOf(client.model)).toEqual(valuesOf(first.model));
  });

  it('one that reads slowly gets the final weights, however long it takes', async () => {
    // More than the buffers of the system take.
    const bigs = [0, 1].map(() => tf.variable(tf.zeros([3_500_000])));
    onTestFinished(() => tf.dispose(bigs));
    const { coordinator } = await coordinatorOf({
      ...{ rounds: 1, variables: [bigs[0]!], waitForClients: 2, enoughClients: 1 },
    });
    const raw = await rawClient(coordinator);
    raw.pause();
    const fast = await clientOf(coordinator, {
      ...{ name: 'z-fast', variables: [bigs[1]!], train: () => () => ({ samples: 1 }) },
    });
    // Timers that begin from now on, such as that of `ws` for closing connections.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    await fast.member.done;
    vi.advanceTimersByTime(60_000);
    raw.resume();
    expect(await raw.next('done')).toMatchObject({ rounds: 1 });
    expect(await raw.closed).toBe(1000);
    await coordinator.done;
  });

  it('a failing connection ends neither the coordinator nor the others', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    onTestFinished(() => warn.mockRestore());
    const { coordinator } = await coordinatorOf({ rounds: 1 });
    const handles = (process as unknown as { _getActiveHandles(): unknown[] })._getActiveHandles();
    const isOurs = (each: unknown): each is Server =>
      each instanceof Server &&
      (each.address() as { port: number } | null)?.port === Number(new URL(coordinator.url).port);
    // What Node.js does if it cannot accept a connection.
    handles.find(isOurs)!.emit('error', new Error('accept EMFILE'));
    expect(warn.mock.calls.flat().join()).toMatch(/ACC_FEDERATED_LISTEN: .*accept EMFILE/);
    await clientOf(coordinator, { train: add(1) });
    expect(await coordinator.done).toMatchObject({ status: 'completed' });
  });

  it('an error of train ends the client, with that error', async () => {
    const { coordinator } = await coordinatorOf({ rounds: 1 });
    const problem = new Error('no data');
    const { member } = await clientOf(coordinator, {
      train: () => () => {
        throw problem;
      },
    });
    await expect(member.done).rejects.toBe(problem);
    const wrong = await clientOf(coordinator, { train: () => () => ({ samples: NaN }) });
    await expect(wrong.member.done).rejects.toMatchObject(refusal('RESULT'));
  });
});

describe('joining', () => {
  const join = (coordinator: Coordinator, options: Partial<FederationOptions> = {}) => {
    const model = linear();
    const { url, token } = coordinator;
    return joinFederation({ url, token, variables: model.variables, train: add(1)(model), ...options });
  };

  it('needs the token', async () => {
    const { coordinator } = await coordinatorOf({ rounds: 1 });
    expect(coordinator.token.length).toBeGreaterThan(40);
    await expect(join(coordinator, { token: `${coordinator.token}x` })).rejects.toMatchObject(
      refusal('TOKEN'),
    );
    await expect(join(coordinator, { token: 'ключ' })).rejects.toMatchObject(refusal('TOKEN'));
    expect(coordinator.clients).toEqual([]);
    const own = await coordinatorOf({ rounds: 1, token: 'ein Schlüssel aus Wörtern' });
    await (
      await join(own.coordinator)
    ).done;
  });

  it('needs the same model', async () => {
    const { coordinator } = await coordinatorOf({ rounds: 1 });
    const other = linear(1, 5);
    await expect(join(coordinator, { variables: other.variables })).rejects.toMatchObject(refusal('MODEL'));
    const small = tf.variable(tf.zeros([1]));
    await expect(join(coordinator, { variables: [small] })).rejects.toMatchObject(refusal('MODEL'));
    const full = tf.variable(tf.zeros([4, 2], 'int32'));
    await expect(join(coordinator, { variables: [full] })).rejects.toMatchObject(refusal('MODEL'));
  });

  it('needs room, and a name of its own', async () => {
    const { coordinator } = await coordinatorOf({ rounds: 1, maxClients: 2, waitForClients: 2 });
    const { member } = await clientOf(coordinator, { name: 'twice', train: add(1) });
    const replaced = expect(member.done).rejects.toMatchObject(refusal('REPLACED'));
    await clientOf(coordinator, { name: 'twice', train: add(1) });
    await replaced;
    const { coordinator: full } = await coordinatorOf({
      rounds: 1,
      maxClients: 1,
      waitForClients: 1,
      enoughClients: 1,
    });
    const stuck = gate();
    await clientOf(full, { train: () => () => stuck.passed.then(() => ({ samples: 1 })) });
    await expect(join(full)).rejects.toMatchObject(refusal('FULL'));
    stuck.open();
  });

  it('of pages needs an origin in the list', async () => {
    const { coordinator } = await coordinatorOf({ rounds: 1, origins: ['https://example.org'] });
    const close = (origin: string) =>
      new Promise((resolve) => socketTo(coordinator, { origin }).once('close', resolve));
    expect(await close('https://evil.example')).toBe(4403);
    const welcome = new Promise((resolve) =>
      socketTo(coordinator, { origin: 'https://example.org' }).once('message', resolve),
    );
    expect(decodeFrame((await welcome) as Buffer, 1e5).message).toMatchObject({ type: 'welcome' });
  });

  it('over plain HTTP, or with a bad address, is refused', async () => {
    const { coordinator } = await coordinatorOf({ rounds: 1 });
    expect((await fetch(coordinator.url.replace('ws:', 'http:'))).status).toBe(426);
    const closed = new Promise((resolve) => socketTo(coordinator, {}, '/?name=%00').once('close', resolve));
    expect(await closed).toBe(4400);
    const odd = new Promise((resolve) => socketTo(coordinator, {}, '//[').once('close', resolve));
    expect(await odd).toBe(4400);
  });
});
