import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Accelerator } from '../accelerator.js';
import { linesOf } from './testing.js';

let accelerator: Accelerator;
let kept: tf.Tensor[] = [];
let warn: ReturnType<typeof vi.spyOn>;
beforeEach(async () => {
  warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  accelerator = await Accelerator.create({ engine: 'acc', seed: 1 });
});
afterEach(() => {
  vi.restoreAllMocks();
  accelerator.freeMemory();
  tf.dispose(kept);
  tf.disposeVariables();
  kept = [];
});

const lineWith = linesOf(import.meta.url);

const keep = (x: tf.Tensor) => kept[kept.push(x) - 1]!;
let count = 0;
const weight = () => tf.variable(tf.scalar(1));

type Step = (x: tf.Tensor) => tf.Tensor | void;

const STEPS: Readonly<Record<string, () => Step>> = {
  'reads with dataSync': () => (x) => {
    if (x.sum().dataSync()[0]! > 1e9) return x; // reads with dataSync
    return x.add(1);
  },
  'reads with arraySync': () => (x) => {
    const rows = x.arraySync() as number[]; // reads with arraySync
    return x.add(rows.length);
  },
  prints: () => (x) => {
    vi.spyOn(console, 'log').mockImplementation(() => {});
    x.print(); // prints
    return x.add(1);
  },
  'reads in a loss': () => {
    const [w, optimizer] = [weight(), tf.train.sgd(0.1)];
    return (x) =>
      optimizer.minimize(
        () => {
          const loss = w.mul(x).sum() as tf.Scalar;
          if (loss.dataSync()[0]! > 1e9) throw new Error('diverged'); // reads in a loss
          return loss;
        },
        true,
        [w],
      )!;
  },
  'draws numbers': () => (x) => {
    const noise = Math.random(); // draws numbers
    return x.mul(noise);
  },
  'keeps a tensor': () => (x) => {
    const next = x.add(1);
    keep(tf.keep(next)); // keeps a tensor
    return next.mul(2);
  },
  'disposes a tensor': () => {
    const masks = Array.from({ length: 9 }, () => keep(tf.ones([3])));
    return (x) => {
      const mask = masks.pop()!;
      const next = x.mul(mask);
      mask.dispose(); // disposes a tensor
      return next;
    };
  },
  'makes a variable': () => (x) => {
    const state = tf.variable(x.mul(2)); // makes a variable
    return state.add(1);
  },
  'makes an optimizer': () => {
    const w = weight();
    return (x) => {
      const optimizer = tf.train.sgd(0.1); // makes an optimizer
      const loss = () => w.mul(x).sum() as tf.Scalar;
      return optimizer.minimize(loss, true, [w])!;
    };
  },
  'counts in JavaScript': () => (x) => {
    const next = x.add(1);
    return next.mul(tf.scalar(count++)); // counts in JavaScript
  },
  'makes other calls': () => (x) => {
    const next = x.add(1);
    return count++ % 2 ? next.exp() : next.tanh(); // makes other calls
  },
  'makes more calls': () => (x) => {
    let next = x.add(1);
    for (let i = 0; i < count; i++) next = next.add(x.mul(2)); // makes more calls
    count++;
    return next;
  },
  'takes other tensors': () => {
    const outside = Array.from({ length: 9 }, (_, i) => keep(tf.scalar(i)));
    return (x) => {
      const mask = outside[count++]!;
      const next = x.add(1);
      return next.mul(mask); // takes other tensors
    };
  },
};

describe('a reason names the line of the program', () => {
  it.each(Object.keys(STEPS))('of a step that %s', (name) => {
    count = 1;
    const step = accelerator.compile(STEPS[name]!());
    const x = tf.tensor1d([1, 2, 3]);
    for (let i = 0; i < 8; i++) tf.tidy(() => void step(x));
    expect(step.replays).toBe(0);
    expect(step.reason).toContain(`, at ${lineWith(name)}`);
    const ours = warn.mock.calls
      .map(([text]: unknown[]) => String(text))
      .filter((text: string) => text.startsWith('acc:'));
    expect(ours).toEqual([`acc: a compiled step runs without replay: ${step.reason}.`]);
    const [first, second] = step.explain().split('\n');
    expect(first).toBe(`The step runs without replay: ${step.reason}.`);
    expect(second).toMatch(/^What to do: [A-Z]/);
    expect(step.explain()).toContain('Arguments [float32[3]]: 8 calls, none replayed');
    expect(step.explain()).not.toMatch(/fused|native calls were recorded/);
  });
});

describe('explain', () => {
  it('says how far a step is that is not replayed yet', () => {
    const step = accelerator.compile((x: tf.Tensor) => x.add(1));
    expect(step.explain()).toBe('The step is not replayed yet.');
    step(tf.ones([3]));
    step(tf.ones([3]));
    expect(step.explain()).toBe(
      'The step is not replayed yet.\n\nArguments [float32[3]]: 2 calls. The first one runs as usual, then calls are recorded until two are equal.',
    );
  });

  it('has the replays of each recording, and says which arguments are not replayed', () => {
    const step = accelerator.compile((x: tf.Tensor, reads: boolean) =>
      reads ? x.mul(x.dataSync()[0]!) : x.add(1),
    );
    const call = (size: number, reads: boolean, times: number) => {
      for (let i = 0; i < times; i++) step(tf.ones([size]), reads);
    };
    call(3, false, 5);
    call(4, false, 4);
    call(3, true, 4);
    const text = step.explain();
    expect(text).toMatch(
      /^Calls with some arguments run without replay: it reads values back, at .*\nWhat to do: /,
    );
    expect(text).toMatch(
      /Arguments \[float32\[s0\],false\], one recording for 2 sizes: s0 = 3, 4\n5 replays: 2, 3 of these sizes, in their order\.\n/,
    );
    expect(text).toMatch(
      /Arguments \[float32\[3\],true\]: 4 calls, none replayed: it reads values back, at /,
    );
  });

  it('says that a step was disposed', () => {
    const step = accelerator.compile((x: tf.Tensor) => x.add(1));
    for (let i = 0; i < 5; i++) step(tf.ones([3]));
    step.dispose();
    expect(step.explain()).toBe('The step runs without replay: it was disposed.');
  });

  it('says which calls ran where nothing is replayed', () => {
    const inner = accelerator.compile((x: tf.Tensor) => x.square());
    const outer = accelerator.compile((x: tf.Tensor) => inner(x).add(1));
    for (let i = 0; i < 5; i++) expect(outer(tf.scalar(i)).dataSync()[0]).toBe(i * i + 1);
    expect(outer.replays).toBe(2);
    expect(inner.explain()).toMatch(/2 calls ran inside another compiled step/);
    const grad = tf.grad((x) => inner(x));
    grad(tf.scalar(2));
    expect(inner.explain()).toMatch(/1 call ran inside a gradient computation, tf.profile or debug mode/);
  });
});

it('a step that writes a tensor into its argument runs as usual, also where that is disposed', () => {
  const batch: { x: tf.Tensor; y?: tf.Tensor } = { x: keep(tf.tensor1d([1, 2, 3])) };
  const step = accelerator.compile((given: typeof batch) => (given.y = given.x.mul(2)).sum());
  for (let i = 0; i < 5; i++) expect(step(batch).dataSync()[0]).toBe(12);
  expect(step.replays).toBe(0);
  expect(step.reason).toBe('its arguments contain a disposed tensor');
  expect(step.explain()).toContain('return new values instead of changing arguments');
});

it('a disposed argument is an error of the step itself, and no reason against replays', () => {
  const step = accelerator.compile((x: tf.Tensor) => x.add(1));
  for (let i = 0; i < 4; i++) step(tf.scalar(i));
  const gone = tf.scalar(1);
  gone.dispose();
  expect(() => step(gone)).toThrow('Tensor is disposed.');
  expect(step(tf.scalar(5)).dataSync()[0]).toBe(6);
  expect(step.replays).toBe(2);
  expect(step.reason).toBeUndefined();
});
