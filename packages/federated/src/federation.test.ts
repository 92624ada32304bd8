import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { ClientRound } from './client/federated-round.js';
import { layoutOf } from './protocol/layout.js';
import { add, clientOf, coordinatorOf, linear, oneStep, rowsOf, valuesOf } from './testing/federation.js';
import { readFlat, weightSource } from './weights/weight-source.js';

beforeAll(() => tf.setBackend('cpu'));

const near = (values: readonly number[], tolerance = 1e-6) =>
  values.map((value) => expect.closeTo(value, -Math.log10(2 * tolerance)) as number);

describe('FedAvg', () => {
  it('with one local step on all rows equals one process with one large batch', async () => {
    const parts = [rowsOf(5, 1), rowsOf(9, 2), rowsOf(2, 3)];
    const rounds = 4;
    const { coordinator, model, records } = await coordinatorOf({ rounds, minClients: 3 });
    const clients = await Promise.all(
      parts.map((rows, i) => clientOf(coordinator, { name: `c${i}`, train: oneStep(rows) })),
    );
    await coordinator.done;
    const summaries = await Promise.all(clients.map(({ member }) => member.done));

    const alone = linear();
    const all = { x: tf.concat(parts.map(({ x }) => x)), y: tf.concat(parts.map(({ y }) => y)) };
    const losses: number[] = [];
    const step = oneStep(all)(alone);
    for (let i = 0; i < rounds; i++) losses.push((await step({} as never)).metrics!['loss']!);

    expect(valuesOf(model)).toEqual(near(valuesOf(alone)));
    for (const client of clients) expect(valuesOf(client.model)).toEqual(valuesOf(model));
    expect(records.map(({ metrics }) => metrics['loss'])).toEqual(near(losses));
    expect(summaries).toEqual(parts.map(() => ({ status: 'completed', accepted: rounds, refused: 0 })));
    expect(records.map(({ asked, updates }) => [asked, updates.map(({ samples }) => samples)])).toEqual(
      Array.from({ length: rounds }, () => [
        ['c0', 'c1', 'c2'],
        [5, 9, 2],
      ]),
    );
  });

  it('takes models of tfjs-layers, batch-norm statistics included, and leaves no tensors behind', async () => {
    const build = () =>
      tf.sequential({
        layers: [
          tf.layers.dense({
            inputShape: [4],
            units: 3,
            kernelInitializer: tf.initializers.glorotNormal({ seed: 4 }),
          }),
          tf.layers.batchNormalization(),
          tf.layers.dense({ units: 2, kernelInitializer: tf.initializers.glorotNormal({ seed: 5 }) }),
        ],
      });
    const [server, ...models] = [build(), build(), build()];
    const before = tf.memory().numTensors;
    const { coordinator } = await coordinatorOf({
      rounds: 3,
      model: server,
      variables: undefined,
      minClients: 2,
    });
    const clients = models.map((model, i) =>
      clientOf(coordinator, {
        name: `c${i}`,
        model,
        variables: undefined,
        train: () => () => {
          model.setWeights(model.getWeights().map((weight) => tf.tidy(() => tf.add(weight, i + 1))));
          return { samples: i + 1 };
        },
      }),
    );
    const start = server!.getWeights().map((weight) => weight.arraySync());
    await coordinator.done;
    await Promise.all((await Promise.all(clients)).map(({ member }) => member.done));
    // Each round adds (1·1 + 2·2) / 3.
    const expected = tf.tidy(() =>
      start.map((weight) => Array.from(tf.add(tf.tensor(weight as number[]), 5).dataSync())),
    );
    expect(expected).toHaveLength(8);
    server!
      .getWeights()
      .forEach((weight, i) => expect(Array.from(weight.dataSync())).toEqual(near(expected[i]!, 1e-5)));
    // What the clients' `train` above assigned, and the variables of `coordinatorOf` and `clientOf`.
    expect(tf.memory().numTensors - before).toBe(6 + tensorsOfTrain(models.length));
  });
});

/** `setWeights` copies: the tensors that `train` passed are its own. Three rounds, eight weights. */
const tensorsOfTrain = (clients: number) => clients * 3 * 8;

describe('FedProx', () => {
  it('adds μ (w − w_t) to the gradient of the trained weights', async () => {
    const model = linear(7);
    const frozen = tf.variable(tf.ones([2]), false);
    const source = weightSource('test', { variables: [...model.variables, frozen] });
    const received = Float32Array.from((await readFlat(source)).map((value, i) => value + 0.1 * i - 0.4));
    const proximalMu = 0.3;
    const [order, layout, signal] = [[0, 1, 2], layoutOf(source.infos), new AbortController().signal];
    const round = new ClientRound({
      round: 0,
      rounds: 1,
      proximalMu,
      signal,
      source,
      order,
      layout,
      received,
    });
    const rows = rowsOf(6, 11);
    const plain = tf.variableGrads(() => model.loss(rows), model.variables);
    const proximal = tf.variableGrads(() => tf.add(model.loss(rows), round.proximalTerm()), model.variables);

    let start = 0;
    for (const variable of model.variables) {
      const anchor = received.subarray(start, (start += variable.size));
      const grad = plain.grads[variable.name]!.dataSync();
      const expected = Array.from(variable.dataSync(), (w, i) => grad[i]! + proximalMu * (w - anchor[i]!));
      expect(Array.from(proximal.grads[variable.name]!.dataSync())).toEqual(near(expected));
    }
    const distance = valuesOf(model).reduce((sum, w, i) => sum + (w - received[i]!) ** 2, 0);
    const values = [proximal, plain].map(({ value }) => value.dataSync()[0]!);
    expect(values[0]! - values[1]!).toBeCloseTo((proximalMu / 2) * distance, 5);
    expect(round.lacksTerm).toBe(false);
    round.dispose();
  });

  it('reaches the clients, and one that does not use it is an error', async () => {
    const { coordinator } = await coordinatorOf({ rounds: 1, proximalMu: 0.5 });
    const { member } = await clientOf(coordinator, { train: add(1) });
    await expect(member.done).rejects.toMatchObject({
      code: 'ACC_FEDERATED_PROXIMAL',
      details: { proximalMu: 0.5 },
    });
    const used: number[] = [];
    const user = await clientOf(coordinator, {
      train: () => (round) => {
        used.push(round.proximalMu);
        round.proximalTerm().dispose();
        return { samples: 1 };
      },
    });
    await user.member.done;
    expect(used).toEqual([0.5]);
  });
});

describe('robust rounds', () => {
  const run = async (options: Parameters<typeof coordinatorOf>[0], amounts: readonly number[]) => {
    const { coordinator, model, records } = await coordinatorOf({ minClients: amounts.length, ...options });
    const before = valuesOf(model);
    await Promise.all(
      amounts.map((amount, i) => clientOf(coordinator, { name: `c${i}`, train: add(amount) })),
    );
    await coordinator.done;
    return { moved: valuesOf(model).map((value, i) => value - before[i]!), records };
  };
  /** A poisoned update is a thousand times an honest one. */
  const amounts = [0.01, 0.012, 0.011, 10];

  it('median: a poisoned client does not move it beyond the honest ones', async () => {
    const { moved } = await run({ rounds: 1, aggregate: 'median' }, amounts);
    expect(moved).toEqual(near(moved.map(() => 0.0115)));
  });

  it('trimmed mean: neither', async () => {
    const { moved } = await run({ rounds: 1, aggregate: 'trimmedMean', trimRatio: 0.25 }, amounts);
    expect(moved).toEqual(near(moved.map(() => 0.0115)));
  });

  it('clipping: it moves the mean by at most its share of the norm', async () => {
    const clipUpdateNorm = 0.05;
    const { moved, records } = await run({ rounds: 1, clipUpdateNorm }, amounts);
    const { length } = moved;
    const clipped = clipUpdateNorm / Math.sqrt(length);
    const expected = (0.01 + 0.012 + 0.011 + clipped) / 4;
    expect(moved).toEqual(near(moved.map(() => expected)));
    const [record] = records;
    expect(record!.updates.map(({ isClipped }) => isClipped)).toEqual([false, false, false, true]);
    expect(record!.updates[3]!.norm).toBeCloseTo(10 * Math.sqrt(length), 3);
  });

  it('a custom aggregator', async () => {
    const { moved } = await run(
      { rounds: 2, aggregate: (updates) => updates[0]!.update.map((value) => 2 * value) },
      [0.5, 7],
    );
    expect(moved).toEqual(near(moved.map(() => 2)));
  });

  it('a custom aggregator that fails ends the run', async () => {
    const { coordinator } = await coordinatorOf({ rounds: 1, aggregate: () => new Float32Array(3) });
    const failed = expect(coordinator.done).rejects.toMatchObject({ code: 'ACC_FEDERATED_AGGREGATE' });
    const { member } = await clientOf(coordinator, { train: add(1), reconnectMs: 0 });
    await expect(member.done).rejects.toMatchObject({ code: 'ACC_FEDERATED_LOST' });
    await failed;
  });

  it.each(['bf16', 'int8'] as const)('updates that travel as %s', async (compression) => {
    const { moved, records } = await run({ rounds: 1, compression }, [1, 3]);
    // All elements are equal, so int8 is exact, apart from float32; bfloat16 holds 1 and 3.
    expect(moved).toEqual(
      near(
        moved.map(() => 2),
        1e-5,
      ),
    );
    expect(records[0]!.receivedBytes).toBeLessThan(4_000);
  });
});

it('the same seed chooses the same clients, and a fraction is one of those that are present', async () => {
  const choices = async (options: { clientsPerRound: number } | { fraction: number }, seed: number) => {
    const { coordinator, records } = await coordinatorOf({ rounds: 6, waitForClients: 5, seed, ...options });
    await Promise.all([0, 1, 2, 3, 4].map((i) => clientOf(coordinator, { name: `c${i}`, train: add(0) })));
    await coordinator.done;
    return records.map(({ asked }) => asked.join());
  };
  const first = await choices({ clientsPerRound: 2 }, 5);
  expect(await choices({ fraction: 0.4 }, 5)).toEqual(first);
  expect(await choices({ clientsPerRound: 2 }, 6)).not.toEqual(first);
  expect(new Set(first).size).toBeGreaterThan(1);
});
