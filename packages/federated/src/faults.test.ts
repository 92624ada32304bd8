import * as tf from '@tensorflow/tfjs';
import { createServer } from 'node:net';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { WebSocket } from 'ws';
import { joinFederation } from './client/join-in-node.js';
import type { FederationOptions } from './client/options.js';
import type { RefusedUpdate } from './client/session.js';
import type { Coordinator } from './coordinator/coordinator.js';
import { bytesOf } from './protocol/compression.js';
import { decodeFrame, encodeFrame, entriesOf } from './protocol/frame.js';
import { layoutOf, type WeightInfo } from './protocol/layout.js';
import { SUBPROTOCOL, TOKEN_PREFIX } from './protocol/messages.js';
import { add, clientOf, coordinatorOf, gate, linear, valuesOf } from './testing/federation.js';

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
    const port = await freePort();
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
    const whole = tf.variable(tf.zeros([4, 2], 'int32'));
    await expect(join(coordinator, { variables: [whole] })).rejects.toMatchObject(refusal('MODEL'));
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

describe('messages of a client that does not keep to the protocol', () => {
  it('are refused and counted, with the reason, and do not change the weights', async () => {
    const { coordinator, model, records } = await coordinatorOf({ rounds: 2, maxSamples: 50, minClients: 1 });
    const { weights, answers, next, send, update } = await rawClient(coordinator);
    const before = valuesOf(model);
    const { ticket } = await next('round');
    const values = new Float32Array(layoutOf(weights).total).fill(1);
    const short = layoutOf([{ ...weights[0]!, shape: [1, 2] }, weights[1]!]);
    const cases: [string, () => void][] = [
      ['PROTOCOL', () => send(new Uint8Array(20))],
      ['PROTOCOL', () => send(encodeFrame({ type: 'shutdown' }))],
      ['PROTOCOL', () => send(encodeFrame({ type: 'hello' }))],
      ['LATE', () => update({ ticket: 'forged' }, values)],
    ];
    for (const [code, act] of cases) {
      act();
      expect(await next('refused')).toMatchObject(refusal(code));
    }
    // An unreadable message while it was asked: it gave up the round, and is asked no more in it.
    update({ ticket }, values);
    expect(await next('refused')).toMatchObject(refusal('LATE'));
    const good = await clientOf(coordinator, { name: 'good', train: add(1) });
    for (const [code, act] of [
      ['SAMPLES', (own: string) => update({ ticket: own, samples: 51 }, values)],
    ] as const) {
      act((await next('round')).ticket as string);
      expect(await next('refused')).toMatchObject(refusal(code));
    }
    await coordinator.done;
    await good.member.done;
    expect(records[0]!.refused).toEqual({ ACC_FEDERATED_PROTOCOL: 3, ACC_FEDERATED_LATE: 2 });
    expect(records[1]!.refused).toEqual({ ACC_FEDERATED_SAMPLES: 1 });
    valuesOf(model).forEach((value, i) => expect(value).toBeCloseTo(before[i]! + 2, 5));
    expect(short.total).toBeLessThan(values.length);
    expect(answers).toContain('done');
  });

  const run = async (
    change: (values: Float32Array, weights: readonly WeightInfo[]) => [Float32Array, WeightInfo[]],
  ) => {
    const { coordinator, model, records } = await coordinatorOf({ rounds: 1 });
    const raw = await rawClient(coordinator);
    const before = valuesOf(model);
    const { ticket } = await raw.next('round');
    const [values, weights] = change(new Float32Array(layoutOf(raw.weights).total).fill(1), raw.weights);
    raw.update({ ticket }, values, weights);
    const told = await raw.next('refused');
    await clientOf(coordinator, { name: 'good', train: add(1) });
    await coordinator.done;
    valuesOf(model).forEach((value, i) => expect(value).toBeCloseTo(before[i]! + 1, 5));
    expect(Object.values(records[0]!.refused)).toEqual([1]);
    return told;
  };

  it.each([NaN, Infinity, 3.4e38])('an update with %s is refused', async (value) => {
    const told = await run((values, weights) => [values.fill(value, 3, 4).map((v) => v * 2), [...weights]]);
    expect(told).toMatchObject(refusal('NOT_FINITE'));
  });

  it('an update of another shape is refused', async () => {
    const told = await run((values, [kernel, bias]) => [values, [{ ...kernel!, shape: [2, 4] }, bias!]]);
    expect(told).toMatchObject(refusal('SHAPE'));
  });

  it('the same update twice is refused the second time', async () => {
    const { coordinator, model } = await coordinatorOf({ rounds: 1, minClients: 2 });
    const before = valuesOf(model);
    const replayed = gate();
    const raw = await rawClient(coordinator);
    await clientOf(coordinator, {
      name: 'z',
      train: (own) => async (round) => (await replayed.passed, add(1)(own)(round)),
    });
    const { ticket } = await raw.next('round');
    const values = new Float32Array(layoutOf(raw.weights).total).fill(3);
    raw.update({ ticket }, values);
    await raw.next('accepted');
    raw.update({ ticket }, values);
    expect(await raw.next('refused')).toMatchObject(refusal('REPLAYED'));
    replayed.open();
    await coordinator.done;
    valuesOf(model).forEach((value, i) => expect(value).toBeCloseTo(before[i]! + 2, 5));
  });

  it(
    'one that does not read is not asked, so that messages for it do not pile up',
    { timeout: 120_000 },
    async () => {
      // More than the buffers of the system take.
      const bigs = [0, 1, 2].map(() => tf.variable(tf.zeros([3_500_000])));
      onTestFinished(() => tf.dispose(bigs));
      const askedAgain = gate();
      const quietRounds = 2;
      const { coordinator, records } = await coordinatorOf({
        ...{ rounds: 10_000, variables: [bigs[0]!], waitForClients: 2, enoughClients: 1 },
        onRound: ({ round, asked }) => {
          // It says that it is ready for more, but has not read the first round.
          if (round === 0) raw.send(encodeFrame({ type: 'ready' }));
          if (round === quietRounds) raw.resume();
          if (round > 0 && asked.includes('raw')) askedAgain.open();
        },
      });
      const raw = await rawClient(coordinator);
      raw.pause();
      const train = () => () => ({ samples: 1 });
      const onRefused = () => {};
      await clientOf(coordinator, { name: 'reads', variables: [bigs[1]!], train, onRefused });
      await clientOf(coordinator, { name: 'reads-too', variables: [bigs[2]!], train, onRefused });
      await askedAgain.passed;
      await coordinator.close();
      const rounds = records.flatMap(({ round, asked }) => (asked.includes('raw') ? [round] : []));
      expect(rounds[0]).toBe(0);
      expect(rounds[1]).toBeGreaterThan(quietRounds);
    },
  );

  it('a message longer than any about the weights ends the connection unread', async () => {
    const { coordinator } = await coordinatorOf({ rounds: 1, minClients: 2 });
    const raw = await rawClient(coordinator);
    raw.send(new Uint8Array(10_000_000));
    expect(await raw.closed).toBe(1009);
  });

  it('many of them end the connection', async () => {
    const { coordinator } = await coordinatorOf({ rounds: 1, minClients: 2 });
    const raw = await rawClient(coordinator);
    for (let i = 0; i < 10; i++) raw.update({ ticket: 'none' }, new Float32Array(10));
    expect(await raw.closed).toBe(4429);
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function socketTo({ url, token }: Coordinator, options: object, path = '/?name=raw'): WebSocket {
  const protocols = [SUBPROTOCOL, TOKEN_PREFIX + Buffer.from(token).toString('base64url')];
  const socket = new WebSocket(url + path, protocols, options);
  onTestFinished(() => socket.terminate());
  socket.on('error', () => {});
  return socket;
}

/** A client that sends what a test says. */
async function rawClient(coordinator: Coordinator) {
  const socket = socketTo(coordinator, {});
  const closed = new Promise<number>((resolve) => socket.once('close', resolve));
  const received: Record<string, unknown>[] = [];
  const answers: string[] = [];
  let wake = () => {};
  socket.on('message', (data) => {
    const message = decodeFrame(data as Buffer, 1e9).message as Record<string, unknown>;
    answers.push(message['type'] as string);
    received.push(message);
    wake();
  });
  const next = async (type: string): Promise<Record<string, unknown>> => {
    for (;;) {
      const at = received.findIndex((message) => message['type'] === type);
      if (at >= 0) return received.splice(at, 1)[0]!;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  };
  const send = (bytes: Uint8Array) => socket.send(bytes);
  const { weights } = (await next('welcome')) as unknown as { weights: WeightInfo[] };
  const update = (message: object, values: Float32Array, of: readonly WeightInfo[] = weights) => {
    const whole = { type: 'update', samples: 1, metrics: {}, steps: [], ...message };
    send(encodeFrame(whole, entriesOf(layoutOf(of), 'F32'), bytesOf(values)));
  };
  send(encodeFrame({ type: 'hello' }));
  await next('weights');
  send(encodeFrame({ type: 'ready' }));
  const pause = () => socket.pause();
  const resume = () => socket.resume();
  return { weights, answers, next, send, update, closed, pause, resume };
}
