import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { notePrepared } from '@acc/contract';
import { activeLayer, packedOf, packedTensor, recordBytes, registerAccBackend } from '@acc/kernels';
import { memoryStats } from '@acc/native';
import { quantizeVariable, type QuantizeVariableOptions } from './index.js';
import { settingsOf } from './settings.js';

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
});

const FORMATS: readonly QuantizeVariableOptions[] = [
  { weights: 'bf16' },
  { weights: 'fp16' },
  { weights: 'int8' },
  { weights: 'int8', granularity: 'tensor', activations: 'dynamic' },
  { weights: 'int8', granularity: { group: 32 } },
  { weights: 'int4', granularity: { group: 32 } },
  { weights: 'int4', granularity: { group: 64 }, algorithm: 'hqq' },
  { weights: 'nf4' },
];

const variableOf = (shape: [number, number]) =>
  tf.tidy(() => tf.variable(tf.randomUniform(shape, -1, 1, 'float32', 3)));

const largest = (x: tf.Tensor): number => tf.tidy(() => tf.max(tf.abs(x)).dataSync()[0]!);

describe.each(FORMATS)('%o', (options) => {
  it('keeps shape and dtype, and takes the bytes that it reports', () => {
    const variable = variableOf([256, 128]);
    const values = variable.dataSync() as Float32Array;
    const before = memoryStats().allocatedBytes;
    const tensors = tf.memory().numTensors;
    const { bits, bytes, sqnr } = quantizeVariable(variable, options);
    expect(tf.memory().numTensors).toBe(tensors);
    expect(before - memoryStats().allocatedBytes).toBeGreaterThanOrEqual(256 * 128 * 4 - bytes - 4096);
    expect(bits).toBeCloseTo((8 * bytes) / (256 * 128), 6);
    const read = variable.dataSync() as Float32Array;
    const noise = read.reduce((sum, value, i) => sum + (value - values[i]!) ** 2, 0);
    const signal = values.reduce((sum, value) => sum + value ** 2, 0);
    expect(10 * Math.log10(signal / noise)).toBeCloseTo(sqnr, 3);
    expect(sqnr).toBeGreaterThan(15);
    expect(variable).toMatchObject({ shape: [256, 128], dtype: 'float32', trainable: false });
    variable.dispose();
    expect(tf.memory().numTensors).toBe(tensors - 1);
  });

  it('lies in records, which give the same values and the same records again', () => {
    const shapes =
      options.weights === 'nf4' || options.weights === 'int4'
        ? [[128, 64]]
        : [
            [128, 64],
            [96, 5],
          ];
    for (const shape of shapes as [number, number][]) {
      const variable = variableOf(shape);
      const { bytes } = quantizeVariable(variable, options);
      const values = variable.dataSync();
      const { records } = packedOf(variable)!;
      using read = records.read();
      expect(read).toMatchObject({ dtype: 'int32', shape: records.shape });
      // A record is filled up to whole words, and has the scale of a tensor, too.
      expect(recordBytes(records) - bytes).toBeGreaterThanOrEqual(0);
      expect(recordBytes(records) - bytes).toBeLessThan(8 * records.shape[0]);
      const copy = packedTensor(records.like(read));
      const held = memoryStats().allocatedBytes;
      let loads = 0;
      records.defer(() => {
        loads++;
        records.write(read);
      });
      expect(held - memoryStats().allocatedBytes).toBeGreaterThanOrEqual(bytes);
      expect(variable.dataSync()).toEqual(values);
      expect(loads).toBe(1);
      expect(copy.dataSync()).toEqual(values);
      using again = records.read();
      expect(again.read()).toEqual(read.read());
      tf.dispose([variable, copy]);
    }
  });

  it('computes with its values: product, gradient of the input, other operators', () => {
    const variable = variableOf([64, 128]);
    quantizeVariable(variable, options);
    tf.tidy(() => {
      const values = tf.tensor(variable.dataSync(), [64, 128]) as tf.Tensor2D;
      for (const rows of [1, 12]) {
        const x = tf.randomUniform([rows, 64], -1, 1, 'float32', rows) as tf.Tensor2D;
        const dy = tf.randomUniform([rows, 128], -1, 1, 'float32', 9) as tf.Tensor2D;
        const product = tf.matMul(x, values);
        const packed = variable as tf.Variable as unknown as tf.Tensor2D;
        expect(largest(tf.sub(tf.matMul(x, packed), product))).toBeLessThan(0.02 * largest(product));
        const gradient = tf.grad((input: tf.Tensor) => tf.matMul(input as tf.Tensor2D, packed))(x, dy);
        expect(largest(tf.sub(gradient, tf.matMul(dy, values, false, true)))).toBeLessThan(1e-5 * 128);
      }
      expect(tf.add(variable, 1).dataSync()).toEqual(tf.add(values, 1).dataSync());
      expect(tf.concat([variable, variable]).dataSync()).toEqual(tf.concat([values, values]).dataSync());
      const fused = tf.fused.matMul({
        a: tf.ones([3, 64]),
        b: variable as unknown as tf.Tensor2D,
        bias: tf.range(0, 128),
        activation: 'relu',
      });

      const expected = tf.relu(tf.add(tf.matMul(tf.ones([3, 64]), values), tf.range(0, 128)));
      expect(largest(tf.sub(fused, expected))).toBeLessThan(0.01 * largest(expected));
    });
    variable.dispose();
  });

  it('takes rows in any order of memory, and slopes for each position', () => {
    const variable = variableOf([64, 128]);
    quantizeVariable(variable, options);
    tf.tidy(() => {
      const values = tf.tensor(variable.dataSync(), [64, 128]);
      const packed = variable as unknown as tf.Tensor2D;
      const turned = tf.transpose(tf.randomUniform([1, 64, 5], -1, 1, 'float32', 2), [0, 2, 1]);
      const plain = tf.matMul(turned, tf.reshape(values, [1, 64, 128]));
      expect(largest(tf.sub(tf.matMul(turned, packed), plain))).toBeLessThan(0.02 * largest(plain));
      const slopes = tf.randomUniform([5, 128], 0, 1, 'float32', 6);
      const fused = tf.fused.matMul({
        a: tf.concat([turned, turned]) as tf.Tensor3D,
        b: packed as unknown as tf.Tensor3D,
        activation: 'prelu',
        preluActivationWeights: slopes,
      });
      const expected = tf.prelu(tf.concat([plain, plain]), slopes);
      expect(largest(tf.sub(fused, expected))).toBeLessThan(0.02 * largest(expected));
    });
    variable.dispose();
  });
});

it('an operator leaves no float32 values in memory', () => {
  const variable = variableOf([512, 512]);
  quantizeVariable(variable, { weights: 'nf4' });
  const before = memoryStats().allocatedBytes;
  for (const use of [
    () => tf.sum(variable),
    () => tf.matMul(tf.ones([4, 512]), variable as unknown as tf.Tensor2D),
  ]) {
    tf.tidy(() => void use().dataSync());
    expect(memoryStats().allocatedBytes - before).toBeLessThan(4096);
  }
  variable.dataSync();
  expect(memoryStats().allocatedBytes - before).toBeLessThan(4096);
  variable.dispose();
});

it('nor do a checkpoint, a broadcast and a second load', async () => {
  const variables = [variableOf([512, 512]), variableOf([512, 512])];
  for (const variable of variables) quantizeVariable(variable, { weights: 'nf4' });
  const { borrow, state, toNative } = activeLayer({ hasNative: true });
  const before = memoryStats().allocatedBytes;
  const isFree = () => expect(memoryStats().allocatedBytes - before).toBeLessThan(4096);
  for (const variable of variables) {
    expect(state.dtypeOf(variable)).toBe('float32');
    isFree();
    state.bytesNow(variable).dispose();
    (await state.bytesOf(variable)).dispose();
    isFree();
    (toNative(variable) as Disposable)[Symbol.dispose]();
    isFree();
    tf.tidy(() => variable.assign(tf.tensor(variable.dataSync(), [512, 512])));
    isFree();
    borrow!(variable);
    await Promise.resolve();
    isFree();
  }
  tf.dispose(variables);
});

it('gradients of the input take float32 values along each axis', () => {
  const variable = variableOf([128, 64]);
  quantizeVariable(variable, { weights: 'int8', activations: 'dynamic', axis: 'first' });
  tf.tidy(() => {
    const values = tf.tensor(variable.dataSync(), [128, 64]) as tf.Tensor2D;
    const packed = variable as unknown as tf.Tensor2D;
    const x = tf.ones([4, 128]) as tf.Tensor2D;
    const dy = tf.randomUniform([4, 64], -1, 1, 'float32', 9) as tf.Tensor2D;
    const gradient = tf.grad((input: tf.Tensor) => tf.matMul(input as tf.Tensor2D, packed))(x, dy);
    expect(largest(tf.sub(gradient, tf.matMul(dy, values, false, true)))).toBeLessThan(1e-5 * 64);
  });
  variable.dispose();
});

it('a lookup takes the rows of a table', () => {
  for (const weights of ['int8', 'int4', 'nf4'] as const) {
    const table = variableOf([40, 128]);
    quantizeVariable(table, { weights, axis: 'first' });
    tf.tidy(() => {
      const values = tf.tensor(table.dataSync(), [40, 128]);
      const indices = tf.tensor2d([[3, 39, 0]], [1, 3], 'int32');
      expect(tf.gather(table, indices).dataSync()).toEqual(tf.gather(values, indices).dataSync());
      // A tied output layer.
      const x = tf.ones([2, 128]) as tf.Tensor2D;
      const logits = tf.matMul(x, values as tf.Tensor2D, false, true);
      const packed = tf.matMul(x, table as unknown as tf.Tensor2D, false, true);
      expect(largest(tf.sub(packed, logits))).toBeLessThan(0.02 * largest(logits));
    });
    table.dispose();
  }
});

describe('is refused', () => {
  const codeOf = (run: () => unknown): unknown => {
    try {
      run();
    } catch (error) {
      return (error as { code?: string }).code;
    }
    return 'nothing thrown';
  };

  it('for options that do not go together or do not exist', () => {
    const variable = variableOf([128, 8]);
    const codes = [
      { weights: 'int4', granularity: 'row' },
      { weights: 'nf4', algorithm: 'hqq' },
      { weights: 'int8', algorithm: 'gptq' },
      { weights: 'int8', activations: 'static' },
      { weights: 'int4', activations: 'dynamic' },
      { weights: 'bf16', granularity: 'row' },
      { weights: 'int8', granularity: { group: 100 } },
    ].map((options) => codeOf(() => quantizeVariable(variable, options as QuantizeVariableOptions)));
    expect(new Set(codes)).toEqual(new Set(['ACC_INVALID_OPTION']));
    const filter = tf.variable(tf.zeros([3, 3, 8, 8]));
    const dynamic = { weights: 'int8', activations: 'dynamic' } as const;
    expect(codeOf(() => quantizeVariable(filter, dynamic))).toBe('ACC_INVALID_OPTION');
    filter.dispose();
    const onGpu = () => settingsOf('quantize', { ...dynamic, algorithm: 'nearest' }, false);
    expect(codeOf(onGpu)).toBe('ACC_INVALID_OPTION');
    const unknown = { weights: 'int8', bitsPerWeight: 4.5 } as QuantizeVariableOptions;
    expect(codeOf(() => quantizeVariable(variable, unknown))).toBe('ACC_UNKNOWN_OPTION');
    variable.dispose();
  });

  it('for shapes, values and dtypes that have no packed form, and the second time', () => {
    const make = (x: tf.Tensor) => tf.variable(x);
    const cases: readonly (readonly [tf.Variable, string])[] = [
      [make(tf.zeros([100, 8])), 'ACC_QUANTIZE_SHAPE'],
      [make(tf.zeros([8])), 'ACC_QUANTIZE_SHAPE'],
      [make(tf.fill([128, 8], NaN)), 'ACC_QUANTIZE_VALUES'],
      [make(tf.zeros([128, 8], 'int32')), 'ACC_QUANTIZE_VALUES'],
    ];
    for (const [variable, code] of cases) {
      expect(codeOf(() => quantizeVariable(variable, { weights: 'int4' }))).toBe(code);
      variable.dispose();
    }
    const inThrees = make(tf.zeros([96, 8]));
    expect(() => quantizeVariable(inThrees, { weights: 'int4' })).toThrow(
      expect.objectContaining({ help: expect.stringContaining('{ group: 32 }') }),
    );
    inThrees.dispose();
    const inPrepared = variableOf([128, 8]);
    notePrepared([inPrepared], { isOver: false });
    expect(codeOf(() => quantizeVariable(inPrepared, { weights: 'int4' }))).toBe('ACC_QUANTIZE_TOO_LATE');
    inPrepared.dispose();
    const variable = variableOf([128, 8]);
    quantizeVariable(variable, { weights: 'int4' });
    expect(codeOf(() => quantizeVariable(variable, { weights: 'int4' }))).toBe('ACC_QUANTIZED');
    variable.dispose();
  });

  it('as are other values for it, by assignment or an optimizer', () => {
    const variable = variableOf([128, 8]);
    quantizeVariable(variable, { weights: 'int8' });
    const values = variable.dataSync();
    tf.tidy(() => variable.assign(tf.tensor(values, [128, 8])));
    expect(codeOf(() => tf.tidy(() => variable.assign(tf.zeros([128, 8]))))).toBe('ACC_QUANTIZED_FROZEN');
    const loss = () => tf.sum(tf.square(variable)) as tf.Scalar;
    const sgd = tf.train.sgd(0.1);
    const gradient = () => ({ [variable.name]: tf.ones([128, 8]) });
    expect(codeOf(() => tf.tidy(() => sgd.applyGradients(gradient())))).toBe('ACC_QUANTIZED_FROZEN');
    variable.trainable = true;
    expect(codeOf(() => tf.tidy(() => void sgd.minimize(loss, false, [variable])))).toBe(
      'ACC_QUANTIZED_FROZEN',
    );
    expect(variable.dataSync()).toEqual(values);
    variable.dispose();
  });

  it('on another backend, and after its values were there', async () => {
    await import('@tensorflow/tfjs-backend-cpu');
    const moved = variableOf([128, 8]);
    quantizeVariable(moved, { weights: 'int8' });
    await tf.setBackend('cpu');
    tf.tidy(() => void tf.add(moved, 1).dataSync());
    const variable = variableOf([128, 8]);
    expect(codeOf(() => quantizeVariable(variable, { weights: 'int8' }))).toBe('ACC_QUANTIZE_BACKEND');
    variable.dispose();
    await tf.setBackend('acc');
    expect(codeOf(() => quantizeVariable(moved, { weights: 'int8' }))).toBe('ACC_QUANTIZED');
    moved.dispose();
  });
});

it('a large matrix is packed by rows, with the same numbers', () => {
  const shape: [number, number] = [1100, 1024];
  const [large, ...parts] = tf.tidy(() => {
    const values = tf.randomUniform(shape, -1, 1, 'float32', 5);
    return [values, ...tf.split(values, 2)].map((each) => tf.variable(each));
  }) as [tf.Variable, tf.Variable, tf.Variable];
  const options = { weights: 'nf4', axis: 'first' } as const;
  const report = quantizeVariable(large, options);
  for (const part of parts) quantizeVariable(part, options);
  const [expected, found] = [parts, [large]].map((list) => list.flatMap((each) => [...each.dataSync()]));
  expect(found).toEqual(expected);
  expect(report.sqnr).toBeGreaterThan(15);
  tf.dispose([large, ...parts]);
});
