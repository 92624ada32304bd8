import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { encodeFrame } from './protocol/frame.js';
import { layoutOf, type WeightInfo } from './protocol/layout.js';
import { add, clientOf, coordinatorOf, gate, valuesOf } from './testing/federation.js';
import { rawClient, socketTo } from './testing/raw-client.js';

beforeAll(() => tf.setBackend('cpu'));

const refusal = (code: string) => ({ code: `ACC_FEDERATED_${code}` });

/** A frame of a header alone. */
function headerOnly(header: string): Uint8Array {
  const text = new TextEncoder().encode(header);
  const frame = new Uint8Array(8 + text.length);
  new DataView(frame.buffer).setBigUint64(0, BigInt(text.length), true);
  frame.set(text, 8);
  return frame;
}

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
      ['PROTOCOL', () => send(headerOnly('{"__metadata__":null}'))],
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
    expect(records[0]!.refused).toEqual({ ACC_FEDERATED_PROTOCOL: 4, ACC_FEDERATED_LATE: 2 });
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

  it('one that does not read is not asked, so that messages for it do not pile up', async () => {
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
  });

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

  it('after them, no update of the client counts', async () => {
    const { coordinator, records } = await coordinatorOf({ rounds: 1 });
    const raw = await rawClient(coordinator);
    const { ticket } = await raw.next('round');
    const values = new Float32Array(10);
    for (let i = 0; i < 10; i++) raw.update({ ticket: 'none' }, values);
    raw.update({ ticket }, values);
    expect(await raw.closed).toBe(4429);
    await clientOf(coordinator, { name: 'good', train: add(1) });
    await coordinator.done;
    expect(records[0]!.updates.map(({ client }) => client)).toEqual(['good']);
    expect(records[0]!.lost).toEqual(['raw']);
  });

  it('a client that says no hello does not keep its place', async () => {
    const { coordinator } = await coordinatorOf({ rounds: 1, maxClients: 1, heartbeatMs: 20 });
    const silent = socketTo(coordinator, {});
    const welcome = new Promise((resolve) => silent.once('message', resolve));
    const closed = new Promise((resolve) => silent.once('close', resolve));
    await welcome;
    expect(coordinator.clients).toEqual(['raw']);
    // `ws` answers the pings of the coordinator.
    silent.send(encodeFrame({ type: 'beat' }));
    await closed;
    expect(coordinator.clients).toEqual([]);
  });

  it('a client that was replaced does not end the round of the one in its place', async () => {
    const { coordinator, records } = await coordinatorOf({ rounds: 1, maxClients: 1 });
    const before = await rawClient(coordinator);
    await before.next('round');
    before.pause();
    await clientOf(coordinator, {
      name: 'raw',
      train: (own) => async (round) => {
        before.send(new Uint8Array(20));
        // The coordinator has read the message by the time it answers on another connection.
        await fetch(coordinator.url.replace('ws:', 'http:'));
        await fetch(coordinator.url.replace('ws:', 'http:'));
        return add(1)(own)(round);
      },
    });
    await coordinator.done;
    expect(records[0]!.refused).toEqual({});
    expect(records[0]!.updates).toHaveLength(1);
  });
});
