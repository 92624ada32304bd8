import * as tf from '@tensorflow/tfjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dropout, gelu, layerNorm, registerAccBackend } from '@acc/kernels';
import { liveTensors, memoryStats } from '@acc/native';
import { installGradientDriver } from '../gradient-driver/driver.js';
import { checkpoint } from './checkpoint.js';

let restore: () => void;
beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  restore = installGradientDriver({ begin: () => undefined });
});
afterAll(() => restore());

const wave = (shape: number[], step = 1.7): tf.Tensor =>
  tf.tidy(() => tf.sin(tf.range(0, tf.util.sizeFromShape(shape)).mul(step)).reshape(shape));

type Run = <R extends tf.Tensor | tf.Tensor[] | Record<string, tf.Tensor>>(
  fn: (...inputs: tf.Tensor[]) => R,
  inputs: tf.Tensor[],
) => R;
const plainly: Run = (fn, inputs) => fn(...inputs);

const variables = {
  weight: wave([4, 4], 0.9),
  gain: wave([4], 2.1),
  bias: wave([4], 3.3),
} as unknown as Record<string, tf.Tensor>;

/** Functions of one tensor `[3, 4]` and of the variables, with parts that `run` runs. */
const CASES: Readonly<Record<string, (x: tf.Tensor2D, run: Run) => tf.Tensor>> = {
  'a variable from outside': (x, run) => run((h) => tf.matMul(h as tf.Tensor2D, weight()).square(), [x]),
  'fused functions': (x, run) =>
    run((h) => gelu(layerNorm(tf.fused.matMul({ a: h!, b: weight(), bias: bias() }), gain(), bias())), [x]),
  'a tensor from outside, on the way from x': (x, run) => {
    const outside = tf.tidy(() => x.exp());
    return run((h) => h!.mul(outside).add(outside.sin()), [x.mul(2)]);
  },
  'an input that is taken from outside too': (x, run) => run((h) => h!.mul(x), [x]),
  'the same input twice': (x, run) => run((a, b) => a!.mul(b!).sin(), [x, x]),
  'several results': (x, run) => {
    const [a, b] = run((h) => [h!.square(), h!.mul(gain()).tanh()], [x]) as [tf.Tensor, tf.Tensor];
    return a.mul(b).add(b);
  },
  'a record of results, some not used': (x, run) => {
    const { used } = run((h) => ({ used: h!.square(), unused: h!.exp() }), [x.mul(2)]);
    return used!;
  },
  'results that are only handed on': (x, run) => {
    const [same, gained] = run((h) => [h!, gain()], [x]) as [tf.Tensor, tf.Tensor];
    return same.mul(gained);
  },
  'one after the other': (x, run) => {
    let h: tf.Tensor = x;
    for (let i = 0; i < 3; i++)
      h = run(
        (t) =>
          tf
            .matMul(t as tf.Tensor2D, weight())
            .tanh()
            .mul(gain()),
        [h],
      );
    return h;
  },
  'one in the other': (x, run) =>
    run((h) => run((t) => tf.matMul(t as tf.Tensor2D, weight()).tanh(), [h!.mul(gain())]).add(h!), [x]),
  'integers beside': (x, run) =>
    run((h, ids) => tf.gather(h!, ids as tf.Tensor1D).square(), [x, tf.tensor1d([2, 0, 1], 'int32')]),
  'a gradient within': (x, run) =>
    run(
      (h) =>
        tf
          .grad((t) => t.pow(3).mul(gain()).sum())(h!)
          .mul(h!),
      [x],
    ),
  'inputs that are freed': (x, run) => {
    const h = x.mul(3);
    const y = run((t) => tf.matMul(t as tf.Tensor2D, weight()).tanh(), [h]);
    h.dispose();
    return y;
  },
  dropout: (x, run) => run((h) => dropout(h!, 0.5, { seed: 3 }).mul(gain()), [x]),
};

let vs: Record<keyof typeof variables, tf.Variable>;
const weight = () => vs.weight as unknown as tf.Tensor2D;
const gain = () => vs.gain as unknown as tf.Tensor1D;
const bias = () => vs.bias as unknown as tf.Tensor1D;

/** The value of a case, and its gradients with respect to x and all variables. */
function gradientsOf(compute: (x: tf.Tensor2D) => tf.Tensor): number[][] {
  return tf.tidy(() => {
    vs = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, tf.variable(value)]));
    const all = Object.values(vs);
    const x = tf.variable(wave([3, 4]) as tf.Tensor2D);
    let y!: tf.Tensor;
    const { grads } = tf.variableGrads(() => {
      y = tf.keep(compute(x as unknown as tf.Tensor2D));
      return y.mul(wave(y.shape, 0.37)).sum() as tf.Scalar;
    }, [x, ...all]);
    const values = [y, ...[x, ...all].flatMap(({ name }) => grads[name] ?? [])].map((t) => [...t.dataSync()]);
    tf.dispose([y, x, ...all]);
    return values;
  });
}

const counts = () => ({
  numTensors: tf.memory().numTensors,
  numBytes: tf.memory().numBytes,
  ids: tf.backend().numDataIds(),
  live: liveTensors(),
});

describe('checkpoint', () => {
  it.each(Object.entries(CASES))(
    'returns the values and gradients of the function itself: %s',
    (_, compute) => {
      const expected = gradientsOf((x) => compute(x, plainly));
      expect(gradientsOf((x) => compute(x, checkpoint as unknown as Run))).toEqual(expected);
    },
  );

  it.each(Object.entries(CASES))("does so with tfjs's own backward walk: %s", (_, compute) => {
    restore();
    try {
      const expected = gradientsOf((x) => compute(x, plainly));
      expect(gradientsOf((x) => compute(x, checkpoint as unknown as Run))).toEqual(expected);
    } finally {
      restore = installGradientDriver({ begin: () => undefined });
    }
  });

  it.each(Object.entries(CASES))('leaves nothing behind: %s', (_, compute) => {
    const run = () => gradientsOf((x) => compute(x, checkpoint as unknown as Run));
    run();
    const before = counts();
    for (let i = 0; i < 3; i++) run();
    expect(counts()).toEqual(before);
  });

  it('can be differentiated twice', () => {
    const second = (run: Run) => [
      ...tf.tidy(() =>
        tf
          .grad((t) =>
            tf
              .grad((u) => run((h) => h!.pow(3).mul(h!.sin()), [u]).sum())(t)
              .square()
              .sum(),
          )(wave([5]))
          .dataSync(),
      ),
    ];
    expect(second(checkpoint as unknown as Run)).toEqual(second(plainly));
  });

  it('only calls the function if no gradient is computed', () => {
    const before = tf.memory().numTensors;
    const x = wave([3]);
    const y = checkpoint((h) => h.mul(2).add(1), [x]);
    expect([...y.dataSync()]).toEqual([...x.mul(2).add(1).dataSync()]);
    tf.dispose([x, y]);
    expect(tf.memory().numTensors - before).toBeLessThanOrEqual(2);
  });

  it('refuses functions that it cannot repeat', () => {
    const grad = (fn: (x: tf.Tensor) => tf.Tensor) =>
      tf.tidy(() => tf.grad((x) => checkpoint(fn, [x]).sum())(wave([4])));
    const code = (name: string) => expect.objectContaining({ code: name }) as Error;
    const before = counts();
    expect(() => grad((x) => Promise.resolve(x) as never)).toThrowError(code('ACC_CHECKPOINT_ASYNC'));
    expect(() => grad(() => 3 as never)).toThrowError(code('ACC_NOT_A_TENSOR'));
    let calls = 0;
    expect(() => grad((x) => (calls++ === 0 ? x.mul(2) : x.mul(2).slice(0, 2)))).toThrowError(
      code('ACC_CHECKPOINT_CHANGED'),
    );
    calls = 0;
    expect(() => grad((x) => (calls++ === 0 ? x : tf.dropout(x, 0.5)))).toThrowError(
      code('ACC_CHECKPOINT_CHANGED'),
    );
    const own = new Error('of its own');
    calls = 0;
    expect(() =>
      grad((x) => {
        if (calls++ > 0) throw own;
        return x.mul(2);
      }),
    ).toThrowError(own);
    expect(counts()).toEqual(before);
    // A gradient afterwards is as ever.
    expect([...grad((x) => x.mul(2)).dataSync()]).toEqual([2, 2, 2, 2]);
  });
});

describe('random numbers', () => {
  const DRAWS: Readonly<Record<string, (x: tf.Tensor) => tf.Tensor>> = {
    'tf.dropout': (x) => tf.dropout(x, 0.4),
    'the dropout of the backend': (x) => dropout(x, 0.4),
    'tf.randomNormal': (x) => x.mul(tf.randomNormal(x.shape)),
    'tf.multinomial': (x) => x.mul(tf.multinomial(tf.ones([x.size]) as tf.Tensor1D, x.size).toFloat()),
    'both dropouts, one checkpoint in another': (x) =>
      checkpoint((h) => dropout(tf.dropout(h, 0.2), 0.3), [dropout(x, 0.1)]),
  };

  it.each(Object.entries(DRAWS))('are the same in backward: %s', (_, draw) => {
    tf.tidy(() => {
      const x = wave([200]);
      let y!: tf.Tensor;
      const dx = tf.grad((t) => {
        // A linear function: its value is x times its gradient.
        y = tf.keep(checkpoint(draw, [t]));
        // Drawn since.
        dropout(tf.dropout(x, 0.5), 0.5);
        return y.sum();
      })(x);
      const expected = dx.mul(x).dataSync();
      y.dataSync().forEach((value, i) => expect(value).toBeCloseTo(expected[i]!, 5));
      expect(new Set(dx.dataSync()).size).toBeGreaterThan(1);
      y.dispose();
    });
  });

  it('continue as without checkpointing', async () => {
    const { setSeed } = await import('@acc/native');
    const next = (run: Run) =>
      tf.tidy(() => {
        setSeed(11);
        const dx = tf.grad((t) => run((h) => dropout(h!, 0.5), [t]).sum())(tf.ones([64]));
        return [...dx.dataSync(), ...dropout(tf.ones([64]), 0.5).dataSync()];
      });
    expect(next(checkpoint as unknown as Run)).toEqual(next(plainly));
  });
});

describe('variables that a function assigns', () => {
  const run = (by: Run) =>
    tf.tidy(() => {
      const weight = tf.variable(wave([4]));
      const mean = tf.variable(tf.ones([4]));
      const x = wave([4], 0.6);
      const { grads } = tf.variableGrads(
        () =>
          by(
            (h) => {
              const y = h!.mul(weight).mul(mean).tanh();
              mean.assign(mean.mul(0.9).add(y.mul(0.1)));
              return y.mul(mean);
            },
            [x],
          ).sum() as tf.Scalar,
        [weight],
      );
      const values = [...grads[weight.name]!.dataSync(), ...mean.dataSync()];
      tf.dispose([weight, mean]);
      return values;
    });

  it('are assigned once, and have their old values in the second run', () => {
    const expected = run(plainly);
    const before = counts();
    expect(run(checkpoint as unknown as Run)).toEqual(expected);
    expect(counts()).toEqual(before);
  });
});

it('keeps only the inputs between forward and backward', () => {
  const MIB = 2 ** 20;
  const kept = (by: Run) => {
    let bytes = NaN;
    tf.tidy(() => {
      const x = wave([MIB / 4]);
      tf.grad((t) => {
        const before = memoryStats().allocatedBytes;
        let h = t;
        for (let i = 0; i < 4; i++) {
          h = tf.tidy(() => by((u) => tf.tidy(() => u!.square().sin().exp().tanh()), [h]));
        }
        const y = tf.tidy(() => h.sum());
        h.dispose();
        bytes = memoryStats().allocatedBytes - before;
        return y;
      })(x);
    });
    return Math.round(bytes / MIB);
  };
  expect(kept(plainly)).toBeGreaterThanOrEqual(8);
  // The inputs of all but the first, which is there anyway.
  expect(kept(checkpoint as unknown as Run)).toBe(3);
});

it('asks the hooks of the installed driver, until it is restored', () => {
  const calls: string[] = [];
  const undo = installGradientDriver({
    begin: () => undefined,
    capture: () => (compute) => {
      calls.push('forward again');
      return compute();
    },
    random: () => ({
      seed: () => {},
      state: () => tf.scalar(1, 'int32'),
      exchange: (state) => {
        calls.push(`state ${state.dataSync()[0]}`);
        return tf.scalar(2, 'int32');
      },
    }),
  });
  const gradient = () =>
    tf.tidy(
      () =>
        tf
          .grad((x) => checkpoint((h) => h.square(), [x]).sum())(tf.scalar(3))
          .dataSync()[0],
    );
  try {
    expect(gradient()).toBe(6);
  } finally {
    undo();
  }
  expect(calls).toEqual(['state 1', 'forward again', 'state 2']);
  expect(gradient()).toBe(6);
  expect(calls).toHaveLength(3);
});
