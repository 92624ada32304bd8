import * as tf from '@tensorflow/tfjs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LayerGraph } from '@acc/tfjs-internals';
import { stageForward, type Checkpoint, type PassRecomputation } from '../run/stage-forward.js';
import { layerCalls, ownersOf, planOf, sharedWeights } from './plan.js';
import { stagesByCost, stagesByName } from './stage-of-calls.js';

const graphOf = (model: tf.LayersModel) => model as unknown as LayerGraph;
const dense = (name: string) => tf.layers.dense({ name, units: 3, activation: 'tanh' });

/** a → b → c → sum(a, c) → again a: a value that skips stages, and a layer that is called twice. */
function skipping() {
  const input = tf.input({ shape: [3], name: 'rows' });
  const first = dense('a');
  const a = first.apply(input) as tf.SymbolicTensor;
  const c = dense('c').apply(dense('b').apply(a)) as tf.SymbolicTensor;
  const sum = tf.layers.add({ name: 'sum' }).apply([a, c]) as tf.SymbolicTensor;
  return tf.model({ inputs: input, outputs: first.apply(sum) as tf.SymbolicTensor });
}

const callAtOnce: Checkpoint = (fn, inputs) => fn(...inputs);

/** A model whose result has a mask. */
const maskedResult = () =>
  tf.sequential({
    layers: [
      tf.layers.embedding({ inputDim: 5, outputDim: 4, maskZero: true, inputLength: 6 }),
      tf.layers.lstm({ units: 3, returnSequences: true }),
    ],
  });

describe('stages by cost', () => {
  it('train something where possible, and have the cheapest most expensive stage', () => {
    const call = fc.record({ cost: fc.integer({ min: 0, max: 20 }), trains: fc.boolean() });
    fc.assert(
      fc.property(
        fc.array(call, { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 4 }),
        (calls, wanted) => {
          const list = calls.map(({ cost }) => cost);
          const trains = calls.map((each) => each.trains);
          const count = Math.min(wanted, list.length);
          const most = (stages: readonly number[]) =>
            Math.max(
              ...Array.from({ length: count }, (_, stage) =>
                list.reduce((sum, cost, i) => (stages[i] === stage ? sum + cost : sum), 0),
              ),
            );
          const idle = (stages: readonly number[]) =>
            count - new Set(stages.filter((_, i) => trains[i])).size;
          const found = stagesByCost(list, trains, count);
          expect(found).toEqual([...found].sort((a, b) => a - b));
          expect(new Set(found).size).toBe(count);
          const all = divisions(list.length, count);
          expect(idle(found)).toBe(Math.min(...all.map(idle)));
          expect(most(found)).toBe(Math.min(...all.filter((each) => idle(each) === idle(found)).map(most)));
        },
      ),
    );
  });

  it('begin with no call to which a mask comes', () => {
    const trains = [true, true, true, true];
    expect(stagesByCost([1, 1, 1, 9], trains, 2)).toEqual([0, 0, 0, 1]);
    expect(stagesByCost([1, 1, 1, 9], trains, 2, new Set([3]))).toEqual([0, 0, 1, 1]);
    expect(() => stagesByCost([1, 1, 1, 9], trains, 3, new Set([2, 3]))).toThrowError(
      expect.objectContaining({ code: 'ACC_PIPELINE_STAGES' }),
    );
  });

  it('need a layer for each', () => {
    expect(() => stagesByCost([1, 2], [true, true], 3)).toThrowError(
      expect.objectContaining({ code: 'ACC_PIPELINE_STAGES' }),
    );
  });
});

/** All ways to divide a list into parts that follow each other. */
function divisions(length: number, parts: number): number[][] {
  if (parts === 1) return [new Array<number>(length).fill(0)];
  return Array.from({ length: length - parts + 1 }, (_, i) => length - 1 - i).flatMap((begin) =>
    divisions(begin, parts - 1).map((head) => [
      ...head,
      ...new Array<number>(length - begin).fill(parts - 1),
    ]),
  );
}

describe('a plan', () => {
  it('passes values on to the stage that uses them, and gives weights to the first one', () => {
    const model = skipping();
    const calls = layerCalls(graphOf(model));
    const names = [['rows', 'a'], ['b'], ['c'], ['sum']];
    const stageOf = stagesByName(calls, names, ['rows']);
    expect(calls.map(({ layer }, i) => `${layer.name} ${stageOf[i]}`)).toEqual([
      ...['a 0', 'b 1', 'c 2', 'sum 3', 'a 3'],
    ]);
    const plan = planOf(graphOf(model), stageOf, 4);
    expect(plan.stages.map(({ receives }) => receives.length)).toEqual([0, 1, 2, 2]);
    expect(plan.stages.map(({ sends }) => sends)).toEqual([
      ...plan.stages.slice(1).map(({ receives }) => receives),
      [],
    ]);
    const kernelOf = (name: string) => model.getLayer(name).weights[0]!.read() as tf.Variable;
    expect(['a', 'b', 'c'].map((name) => ownersOf(plan, 2).get(kernelOf(name)))).toEqual([0, 1, 0]);
    expect(sharedWeights(plan, 2).map(({ owner, users }) => [owner, users])).toEqual([
      [0, [1]],
      [0, [1]],
    ]);
    model.dispose();
  });

  it('computes what the model does, with masks within a stage', () => {
    const model = tf.sequential({
      layers: [
        tf.layers.embedding({ inputDim: 5, outputDim: 4, maskZero: true, inputLength: 6 }),
        tf.layers.lstm({ units: 3 }),
        tf.layers.dense({ units: 2 }),
      ],
    });
    const tokens = tf.tensor2d([[1, 2, 3, 0, 0, 0]], [1, 6], 'int32');
    const expected = model.predict(tokens) as tf.Tensor;
    const full = planOf(graphOf(model), [0, 0, 0], 1);
    const [found] = stageForward(full.stages[0]!, new Map([[full.inputs[0]!, tokens]]), full.outputs);
    expect([...found!.dataSync()]).toEqual([...expected.dataSync()]);
    const again = { every: 3, checkpoint: callAtOnce, isBackwardNext: false };
    const sequences = planOf(graphOf(maskedResult()), [0, 0], 1);
    const computed = (recomputation?: PassRecomputation) => {
      const given = new Map([[sequences.inputs[0]!, tokens]]);
      return stageForward(sequences.stages[0]!, given, sequences.outputs, recomputation)[0]!.dataSync();
    };
    expect([...computed(again)]).toEqual([...computed()]);
    const cut = planOf(graphOf(model), [0, 1, 1], 2);
    const first = () =>
      stageForward(cut.stages[0]!, new Map([[cut.inputs[0]!, tokens]]), cut.stages[0]!.sends);
    expect(first).toThrowError(expect.objectContaining({ code: 'ACC_PIPELINE_MASK' }));
    tf.disposeVariables();
  });
});
