import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { CompiledStep } from '@acc/compile';
import { expectClose } from '@acc/testkit';
import { Accelerator } from '../accelerator.js';

// Steps that refer to tensors from outside: what replays compute once, and what may not change it.

let accelerator: Accelerator;
beforeEach(async () => {
  vi.spyOn(console, 'warn').mockReturnValue(undefined);
  accelerator = await Accelerator.create({ engine: 'acc', seed: 1 });
});
afterEach(() => {
  accelerator.freeMemory();
  tf.disposeVariables();
  vi.restoreAllMocks();
});

const FORMS = [false, 'plain', 'exact', true] as const;
type Fuse = (typeof FORMS)[number];
type Step = (x: tf.Tensor) => tf.Tensor;

interface Case {
  readonly step: Step;
  /** Runs before call `i`. */
  readonly before?: (i: number) => void;
}

const CALLS = 10;

/** The results of some calls. */
function resultsOf(make: () => Case, fuse?: Fuse) {
  const { step, before } = make();
  const compiled = fuse === undefined ? undefined : accelerator.compile(step, { fuse });
  const results = Array.from({ length: CALLS }, (_, i) => {
    before?.(i);
    const x = tf.randomNormal([4, 6], 0, 1, 'float32', i + 1);
    return (compiled ?? step)(x).dataSync<'float32'>();
  });
  return { results, compiled: compiled as CompiledStep<[tf.Tensor], tf.Tensor> };
}

function expectSame(make: () => Case, fuse: Fuse): CompiledStep<[tf.Tensor], tf.Tensor> {
  const plain = resultsOf(make);
  const { results, compiled } = resultsOf(make, fuse);
  if (fuse === true)
    results.forEach((values, i) => expectClose(values, plain.results[i]!, { rtol: 1e-6, atol: 1e-6 }));
  else expect(results).toEqual(plain.results);
  return compiled;
}

const table = (): tf.Tensor => tf.randomNormal([6, 6], 0, 1, 'float32', 70);

const FOLDED: Record<string, () => Case> = {
  'a mask': () => {
    const mask = tf.linalg.bandPart(tf.ones([4, 6]), -1, 0);
    return { step: (x) => tf.softmax(x.add(mask.expandDims(0).sub(1).mul(1e9))).squeeze([0]) };
  },
  'a table of positions, in two parts, and a scale': () => {
    const [positions, scale] = [table(), tf.scalar(0.3)];
    return {
      step: (x) => {
        const [first, second] = tf.split(positions.sin().mul(scale.sqrt()), [4, 2]) as [tf.Tensor, tf.Tensor];
        return x.add(first).mul(second.sum(0)).matMul(positions.transpose());
      },
    };
  },
  'whole numbers and a choice': () => {
    const [places, isSeen] = [tf.tensor1d([3, 1, 0, 2], 'int32'), tf.tensor1d([1, 0, 1, 0, 1, 1], 'bool')];
    return {
      step: (x) =>
        tf
          .where(isSeen.logicalNot().expandDims(0), x.gather(places.add(tf.scalar(0, 'int32'))), x.mul(2))
          .tanh(),
    };
  },
};

/** Cases in which something that shares the memory of a captured tensor changes. */
const CHANGES: Record<string, () => Case> = {
  'a variable whose clone is captured gets other values': () => {
    const variable = tf.variable(table());
    const kept = variable.clone();
    return {
      step: (x) => x.matMul(kept.mul(2)).add(variable.sum()),
      before: (i) => i === 6 && variable.assign(tf.ones([6, 6])),
    };
  },
  'a variable whose clone alone is used gets other values': () => {
    const variable = tf.variable(table());
    const kept = variable.clone();
    return {
      step: (x) => x.matMul(kept.mul(2)),
      before: (i) => i === 6 && variable.assign(tf.ones([6, 6])),
    };
  },
  'a variable got the captured tensor, and gets other values': () => {
    const [kept, variable] = [table(), tf.variable(tf.zeros([6, 6]))];
    variable.assign(kept);
    return {
      step: (x) => x.matMul(kept.mul(2)),
      before: (i) => i === 6 && variable.assign(tf.ones([6, 6])),
    };
  },
  'the captured tensor goes into a variable between replays': () => {
    const [kept, variable] = [table(), tf.variable(tf.zeros([6, 6]))];
    return {
      step: (x) => x.matMul(kept.mul(2)).add(variable.mul(3).sum()),
      before: (i) => i >= 6 && variable.assign(i % 2 === 0 ? kept : tf.ones([6, 6])),
    };
  },
  'a prepared optimizer trains a variable of which a view and a clone are captured': () => {
    const variable = tf.variable(table());
    const [view, kept] = [variable.slice([0, 0], [6, 3]), variable.clone()];
    const [, optimizer] = accelerator.prepare([variable], tf.train.adam(0.1));
    return {
      step: (x) => {
        const loss = () =>
          x
            .matMul(variable)
            .sub(x.matMul(kept.mul(2)))
            .square()
            .mean()
            .asScalar();
        optimizer.minimize(loss, false, [variable]);
        return x.matMul(view.mul(3).sub(1)).add(variable.sum());
      },
    };
  },
  'a prepared optimizer trains what was captured, and its own state': () => {
    const variable = tf.variable(table());
    const kept = table();
    const [, optimizer] = accelerator.prepare([variable], tf.train.momentum(0.1, 0.9));
    return {
      step: (x) => {
        optimizer.minimize(() => x.matMul(variable).square().mean().asScalar(), false, [variable]);
        return x.matMul(kept.mul(2)).add(variable.sum());
      },
      before: (i) => i === 5 && variable.assign(kept),
    };
  },
  'the arrays that a captured tensor came from and gave out are written': () => {
    const given = Float32Array.from({ length: 36 }, (_, i) => Math.sin(i));
    const kept = tf.tensor(given, [6, 6]);
    return {
      step: (x) => x.matMul(kept.mul(2)),
      before: (i) => {
        given[0] = i;
        kept.dataSync()[1] = 10 * i;
        kept.bufferSync().values[2] = 20 * i;
      },
    };
  },
  'another tensor takes the place of one that is disposed': () => {
    let kept = table();
    return {
      step: (x) => x.matMul(kept.mul(2).add(1)),
      before(i) {
        if (i !== 6) return;
        kept.dispose();
        kept = tf.ones([6, 6]);
      },
    };
  },
  'another tensor takes the place of one that is disposed, whose data a third one shares': () => {
    const given = table();
    let kept = given.reshape([6, 6]);
    return {
      step: (x) => x.matMul(kept).add(kept.sum()),
      before(i) {
        if (i !== 6) return;
        kept.dispose();
        kept = tf.ones([6, 6]);
      },
    };
  },
};

describe.each(FORMS)('with fuse: %s', (fuse) => {
  it.each(Object.entries(FOLDED))('replays give what plain steps give: %s', (_, make) => {
    const compiled = expectSame(make, fuse);
    expect(compiled.replays).toBe(CALLS - 3);
    if (fuse !== false) expect(compiled.explain()).not.toMatch(/× (sin|sqrt|logical_not|band_part)\b/);
  });

  it.each(Object.entries(CHANGES))('sees a change as a plain step does: %s', (_, make) => {
    expectSame(make, fuse);
  });
});

it('a tensor that takes the place of another one in each call is a reason against replays', () => {
  const shared = table();
  let kept = shared.clone();
  const compiled = accelerator.compile((x: tf.Tensor) => x.matMul(kept));
  for (let i = 0; i < 40; i++) {
    compiled(tf.ones([1, 6]));
    kept.dispose();
    kept = shared.clone();
  }
  expect(compiled.reason).toMatch(/^it uses changing tensors that are neither arguments nor variables/);
  expect(compiled.replays).toBe(0);
});
