import * as tf from '@tensorflow/tfjs';
import { afterEach, describe, expect, it } from 'vitest';
import type { PackedTensor, Plugin, Strategy, TapeHooks } from '@acc/contract';
import { liveTensors } from '@acc/native';
import { engineInternals } from '@acc/tfjs-internals';
import { Accelerator } from '../accelerator.js';
import { checkpoint } from '../index.js';
import type { AcceleratorOptions } from '../options.js';
import { singleStrategy } from '../single-strategy/single-strategy.js';

let accelerator: Accelerator;
afterEach(() => {
  accelerator.freeMemory();
  tf.disposeVariables();
});

const create = async (tape: TapeHooks | undefined, options: AcceleratorOptions = {}, ...others: Plugin[]) => {
  const plugins = tape ? [{ name: 'hooked', tape }, ...others] : others;
  accelerator = await Accelerator.create({ engine: 'acc', plugins, ...options });
};

const input = () => tf.sin(tf.range(0, 12)).reshape([4, 3]) as tf.Tensor2D;

/** Two layers. The second is used twice. */
function network() {
  const weight = (rows: number, columns: number, seed: number) =>
    tf.variable(tf.randomNormal([rows, columns], 0, 1, 'float32', seed), true);
  const [first, second] = [weight(3, 5, 1), weight(5, 5, 2)];
  const layers = [
    (x: tf.Tensor) => tf.tanh(tf.matMul(x as tf.Tensor2D, first)),
    (x: tf.Tensor) => tf.sigmoid(tf.matMul(tf.relu(tf.matMul(x as tf.Tensor2D, second)), second)),
  ];
  const loss = (x: tf.Tensor) => () =>
    layers
      .reduce((y, layer) => layer(y), x)
      .square()
      .mean() as tf.Scalar;
  const inCheckpoints = (x: tf.Tensor) => () =>
    layers
      .reduce((y, layer) => checkpoint(layer, [y]), x)
      .square()
      .mean() as tf.Scalar;
  return { first, second, weights: [first, second], loss, inCheckpoints };
}

type Network = ReturnType<typeof network>;

/** Moves saved tensors to memory of JavaScript. */
function offloading() {
  const counts = { packed: 0, unpacked: 0, disposed: 0 };
  const pack = (tensor: tf.Tensor): PackedTensor => {
    counts.packed++;
    const values = tensor.dataSync().slice();
    const { shape, dtype } = tensor;
    return {
      unpack: () => {
        counts.unpacked++;
        return tf.tensor(values, shape, dtype);
      },
      dispose: () => void counts.disposed++,
    };
  };
  return { counts, tape: { pack } satisfies TapeHooks };
}

/** Stores the values of variables elsewhere. The variables hold NaN while no operator uses them. */
function releasing() {
  const values = new Map<tf.Variable, tf.Tensor>();
  const release = (variable: tf.Variable) => variable.assign(tf.fill(variable.shape, NaN));
  const present = new Set<tf.Variable>();
  const bring = (variable: tf.Variable) => {
    variable.assign(values.get(variable)!);
    present.add(variable);
  };
  const log: string[] = [];
  const tape: TapeHooks = {
    before(variables, phase) {
      for (const variable of variables) {
        log.push(`${phase} ${variable.name}`);
        bring(variable);
      }
    },
    after(variables) {
      for (const variable of variables.filter((each) => present.delete(each))) release(variable);
    },
    pack: (_, variable) =>
      variable ? { unpack: () => values.get(variable)!.clone(), dispose: () => {} } : undefined,
  };
  const take = (variables: readonly tf.Variable[]) => {
    for (const variable of variables) {
      values.get(variable)?.dispose();
      values.set(variable, tf.keep(variable.clone()));
      release(variable);
    }
  };
  const strategy: Strategy = {
    ...singleStrategy(),
    name: 'releasing',
    traits: { parameters: 'replicated' },
    tape,
    prepareVariables: take,
    update(grads, apply) {
      for (const [variable, value] of values) variable.assign(value);
      apply(grads);
      take([...values.keys()]);
    },
    detach: () => values.forEach((value) => value.dispose()),
  };
  return { strategy, log };
}

const read = (tensors: readonly tf.Tensor[]) => tensors.map((tensor) => [...tensor.dataSync()]);

/** Loss and gradients, of `loss` or of the same loss in activation checkpoints. */
function gradients({ weights, loss, inCheckpoints }: Network, isCheckpointed = false): number[][] {
  return tf.tidy(() => {
    const { value, grads } = tf.variableGrads((isCheckpointed ? inCheckpoints : loss)(input()), weights);
    return read([value, ...weights.map(({ name }) => grads[name]!)]);
  });
}

/** Loss and gradients without hooks. */
async function plainGradients(isCheckpointed = false): Promise<number[][]> {
  await create(undefined);
  const model = network();
  accelerator.prepare(model.weights);
  const result = gradients(model, isCheckpointed);
  accelerator.freeMemory();
  tf.disposeVariables();
  return result;
}

describe('hooks around operators', () => {
  it('are called in order in forward, and in reverse order in backward, before gradients are final', async () => {
    const log: string[] = [];
    const name = (variables: readonly tf.Variable[]) =>
      variables.map((variable) => (variable === model.first ? 'first' : 'second')).join();
    const tape: TapeHooks = {
      before: (variables, phase) => void log.push(`${phase} ${name(variables)}`),
      after: (variables, phase) => void log.push(`${phase} ${name(variables)} done`),
    };
    const listener: Plugin = {
      name: 'listener',
      ready: (_grad, _pass, of) => void log.push(`ready ${name([of])}`),
    };
    await create(tape, {}, listener);
    const model = network();
    accelerator.prepare(model.weights);
    gradients(model);
    const around = (what: string) => [what, `${what} done`];
    expect(log).toEqual([
      ...['forward first', 'forward second', 'forward second'].flatMap(around),
      ...['backward second', 'backward second'].flatMap(around),
      'ready second',
      ...around('backward first'),
      'ready first',
    ]);
  });

  it('are called in predictions of prepared models, and once for operators that call operators', async () => {
    const log: string[] = [];
    await create({
      before: (variables) => void log.push(...variables.map(({ shape }) => shape.join())),
      after: (variables) => void log.push(...variables.map(({ shape }) => `${shape.join()} done`)),
    });
    const model = tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [3], useBias: false })] });
    accelerator.prepare(model);
    tf.dispose(model.predict(input()));
    const [own] = model.trainableWeights.map((weight) => weight.read() as tf.Variable);
    expect(log).toEqual(['3,2', '3,2 done']);
    log.length = 0;
    const twice = tf.customGrad((w) => ({
      value: tf.add(tf.square(w as tf.Tensor), w as tf.Tensor),
      gradFunc: (dy: tf.Tensor) => dy,
    }));
    tf.dispose(tf.variableGrads(() => twice(own!).sum(), [own!]));
    expect(log).toEqual(['3,2', '3,2 done', '3,2', '3,2 done']);
  });

  it('run outside the tape, trigger no hooks, and leave no tensors', async () => {
    let depth = 0;
    const own = tf.variable(tf.ones([3, 5]));
    await create({
      before() {
        expect(depth++).toBe(0);
        expect(engineInternals().isTapeOn()).toBe(false);
        tf.square(own).mul(2);
        depth--;
      },
    });
    const model = network();
    accelerator.prepare(model.weights);
    const expected = gradients(model);
    const before = [tf.memory().numTensors, liveTensors()];
    expect(gradients(model)).toEqual(expected);
    expect([tf.memory().numTensors, liveTensors()]).toEqual(before);
  });

  it('patch nothing if no plugin has hooks', async () => {
    await create(undefined);
    const model = network();
    accelerator.prepare(model.weights);
    const engine = engineInternals();
    const own = engine.runKernelFunc;
    let inForward: unknown;
    tf.dispose(
      tf.variableGrads(() => {
        inForward = engine.runKernelFunc;
        expect(Object.hasOwn(engine.state.activeTape!, 'push')).toBe(false);
        return model.loss(input())();
      }, model.weights),
    );
    expect(inForward).toBe(own);
  });

  it('with unknown names are refused', async () => {
    const misspelt = { befor: () => {} } as TapeHooks;
    await expect(create(misspelt)).rejects.toMatchObject({ code: 'ACC_UNKNOWN_OPTION' });
    await create(undefined);
  });
});

describe.each([
  ['kept', false],
  ['computed again in activation checkpoints', true],
])('with activations %s', (_, isCheckpointed) => {
  it('packed tensors give the same gradients, and their memory is free in between', async () => {
    const expected = await plainGradients(isCheckpointed);
    const { tape, counts } = offloading();
    await create(tape);
    const model = network();
    accelerator.prepare(model.weights);
    expect(gradients(model, isCheckpointed)).toEqual(expected);
    const before = [tf.memory().numTensors, tf.memory().numDataBuffers, liveTensors()];
    expect(gradients(model, isCheckpointed)).toEqual(expected);
    expect([tf.memory().numTensors, tf.memory().numDataBuffers, liveTensors()]).toEqual(before);
    expect(counts.packed).toBeGreaterThan(5);
    expect(counts.disposed).toBe(counts.packed);
  });

  it('parameters that exist only while operators use them give the same gradients', async () => {
    const expected = await plainGradients(isCheckpointed);
    const elsewhere = releasing();
    await create(undefined, { strategy: elsewhere.strategy });
    const model = network();
    accelerator.prepare(model.weights);
    expect(gradients(model, isCheckpointed)).toEqual(expected);
    const calls = elsewhere.log.length;
    const before = [tf.memory().numTensors, tf.memory().numDataBuffers, liveTensors()];
    expect(gradients(model, isCheckpointed)).toEqual(expected);
    expect([tf.memory().numTensors, tf.memory().numDataBuffers, liveTensors()]).toEqual(before);
    // Three operators take the variables, forward and backward. A checkpoint runs forward twice.
    expect(calls).toBe(isCheckpointed ? 9 : 6);
    expect(read(model.weights).flat().every(Number.isNaN)).toBe(true);
  });
});

it('saved tensors are packed when they are recorded', async () => {
  const { tape } = offloading();
  const bytes: number[] = [];
  const chain = (x: tf.Tensor) => {
    let y = x;
    for (let i = 0; i < 8; i++) y = tf.tidy(() => tf.sigmoid(y));
    bytes.push(tf.memory().numBytes);
    return y.sum() as tf.Scalar;
  };
  const w = () => tf.variable(tf.ones([1000]));
  for (const hooks of [undefined, tape]) {
    await create(hooks);
    const variable = w();
    tf.dispose(tf.variableGrads(() => chain(variable)));
    accelerator.freeMemory();
    tf.disposeVariables();
  }
  expect(bytes[1]).toBeLessThan(bytes[0]! - 6 * 4000);
});

it('second derivatives work through packed tensors', async () => {
  const second = () =>
    tf.tidy(() => {
      const h = (t: tf.Tensor) => t.square().exp();
      const inner = (t: tf.Tensor) =>
        tf
          .grad((u) => u.mul(h(t)).pow(tf.scalar(3)).sum())(t)
          .sum();
      return read([tf.grad(inner)(tf.tensor1d([0.1, 0.3]))])[0];
    });
  await create(undefined);
  const expected = second();
  accelerator.freeMemory();
  const { tape, counts } = offloading();
  await create(tape);
  expect(second()).toEqual(expected);
  expect(counts.unpacked).toBeGreaterThan(3);
  expect(counts.disposed).toBe(counts.packed);
});

describe('an error', () => {
  const thrown = new Error('of a hook');
  const fail = (): never => {
    throw thrown;
  };
  const HOOKS: Record<string, TapeHooks> = {
    before: { before: fail },
    'before, of backward': { before: (_, phase) => (phase === 'backward' ? fail() : undefined) },
    after: { after: fail },
    pack: { pack: fail },
    unpack: { pack: () => ({ unpack: fail, dispose: () => {} }) },
  };

  it.each(Object.entries(HOOKS))('in %s ends the pass, and leaves nothing behind', async (_, tape) => {
    let isFailing = false;
    const hooks: TapeHooks = {
      before: (...args) => void (isFailing && tape.before?.(...args)),
      after: (...args) => void (isFailing && tape.after?.(...args)),
      pack: (...args) => (isFailing ? tape.pack?.(...args) : undefined),
    };
    const open = new Set<tf.Variable>();
    const outer: TapeHooks = {
      before: (variables) => variables.forEach((each) => open.add(each)),
      after: (variables) => variables.forEach((each) => open.delete(each)),
    };
    await create(outer, {}, { name: 'failing', tape: hooks });
    const model = network();
    accelerator.prepare(model.weights);
    const expected = gradients(model);
    const before = [tf.memory().numTensors, liveTensors()];
    isFailing = true;
    expect(() => gradients(model)).toThrow(thrown);
    // The values that were loaded for an operator are released.
    expect(open.size).toBe(0);
    expect([tf.memory().numTensors, liveTensors()]).toEqual(before);
    isFailing = false;
    expect(gradients(model)).toEqual(expected);
  });

  it('of an operator is passed on after its hooks', async () => {
    const log: string[] = [];
    await create({
      before: () => void log.push('before'),
      after() {
        log.push('after');
        throw thrown;
      },
    });
    const w = tf.variable(tf.ones([2, 3]));
    accelerator.prepare([w]);
    const bad = tf.customGrad(() => {
      throw new Error('of the operator');
    });
    expect(() => tf.variableGrads(() => bad(w as tf.Tensor) as tf.Scalar, [w])).toThrow('of the operator');
    expect(log).toEqual(['before', 'after']);
  });

  it('is thrown if unpack returns a different shape or dtype', async () => {
    await create({ pack: () => ({ unpack: () => tf.zeros([7]), dispose: () => {} }) });
    const model = network();
    accelerator.prepare(model.weights);
    expect(() => gradients(model)).toThrowError(expect.objectContaining({ code: 'ACC_UNPACKED_DIFFERS' }));
  });
});

it.each(['plainly', 'with activation checkpoints'])(
  'a compiled step calls hooks in each replay, %s',
  async (how) => {
    const run = async (isHooked: boolean) => {
      const elsewhere = releasing();
      const { tape, counts } = offloading();
      if (isHooked) await create(tape, { strategy: elsewhere.strategy });
      else await create(undefined);
      const model = network();
      const [, optimizer] = accelerator.prepare(model.weights, tf.train.sgd(0.5));
      const loss = how === 'plainly' ? model.loss : model.inCheckpoints;
      const step = accelerator.compile((x: tf.Tensor) => optimizer.minimize(loss(x), true, model.weights)!);
      const losses: number[] = [];
      for (let i = 0; i < 6; i++) {
        tf.tidy(() => void losses.push(step(input().add(i / 10)).dataSync()[0]!));
      }
      const { replays, reason } = step;
      if (isHooked) {
        expect(counts.packed).toBeGreaterThan(6);
        expect(counts.disposed).toBe(counts.packed);
      }
      accelerator.freeMemory();
      tf.disposeVariables();
      return { losses, replays, reason, calls: elsewhere.log.length };
    };
    const plain = await run(false);
    expect(plain).toMatchObject({ replays: 3, reason: undefined });
    const hooked = await run(true);
    expect(hooked).toMatchObject({ replays: 3, reason: undefined });
    expect(hooked.losses).toEqual(plain.losses);
    expect(hooked.calls).toBe(6 * (how === 'plainly' ? 6 : 9));
    await create(undefined);
  },
);
