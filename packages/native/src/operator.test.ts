import { describe, expect, it } from 'vitest';
import { UNDEFINED_TENSOR } from './call-buffer.js';
import { liveTensors } from './memory.js';
import { operator, operatorInPlace, operatorWithResults } from './operator.js';
import { type Tensor, tensorFrom } from './tensor.js';

const vector = (...values: number[]) => tensorFrom(Float32Array.from(values), 'float32', [values.length]);

describe('operators', () => {
  it('accept tensors, scalars and defaults', () => {
    using a = vector(1, 2);
    using b = vector(10, 20);
    using sum = operator('aten::add.Tensor')(a, b);
    using scaled = operator('aten::add.Tensor')(a, b, 2);
    expect([...sum.read()]).toEqual([11, 22]);
    expect([...scaled.read()]).toEqual([21, 42]);
  });

  it('keep int32 with whole scalars, and become float32 with others', () => {
    using ints = tensorFrom(Int32Array.of(1, 2), 'int32', [2]);
    using whole = operator('aten::mul.Scalar')(ints, 3);
    using half = operator('aten::mul.Scalar')(ints, 0.5);
    expect(whole).toMatchObject({ dtype: 'int32' });
    expect(half).toMatchObject({ dtype: 'float32' });
  });

  it('accept lists of tensors and numbers, optional values, booleans, dtypes and strings', () => {
    using a = vector(1, 2);
    using b = vector(3);
    using joined = operator('aten::cat')([a, b], 0);
    expect([...joined.read()]).toEqual([1, 2, 3]);
    using sum = operator('aten::sum.dim_IntList')(joined, [0], true, 'float64');
    expect(sum).toMatchObject({ dtype: 'float64', shape: [1] });
    using gelu = operator('aten::gelu')(joined, 'tanh');
    expect(gelu.read()[0]).toBeCloseTo(0.8412, 4);
    using clamped = operator('aten::clamp')(joined, null, 2);
    expect([...clamped.read()]).toEqual([1, 2, 2]);
    using filled = operator('aten::full')([2], 7, 'float32');
    expect([...filled.read()]).toEqual([7, 7]);
  });

  it('keep NaN, infinities and -0 as scalars', () => {
    using zeros = vector(0, 0);
    for (const value of [NaN, Infinity, -Infinity, -0]) {
      using filled = operator('aten::full_like')(zeros, value);
      expect(Object.is(filled.read()[0], value)).toBe(true);
    }
  });

  it('return several results, and lists', () => {
    using matrix = tensorFrom(Float32Array.of(3, 1, 2, 4), 'float32', [2, 2]);
    const [values, indices] = operatorWithResults('aten::max.dim')(matrix, 1) as [Tensor, Tensor];
    expect([...values.read()]).toEqual([3, 4]);
    expect(indices.read()).toEqual(BigInt64Array.of(0n, 1n));
    const [parts] = operatorWithResults('aten::split.Tensor')(matrix, 1, 0) as [Tensor[]];
    expect(parts.map(({ shape }) => shape)).toEqual([
      [1, 2],
      [1, 2],
    ]);
    for (const tensor of [values, indices, ...parts]) tensor.dispose();
  });

  it('write in place without a new handle', () => {
    using a = vector(1, 2);
    const before = liveTensors();
    operatorInPlace('aten::add_.Scalar')(a, 1);
    expect([...a.read()]).toEqual([2, 3]);
    expect(liveTensors()).toBe(before);
  });

  it('name the operator, shapes and dtypes if they fail, and leave nothing behind', () => {
    using a = vector(1, 2);
    const before = liveTensors();
    expect(() => operator('aten::mm')(a, a)).toThrowError(
      expect.objectContaining({
        code: 'ACC_OPERATOR_FAILED',
        message: expect.stringContaining('aten::mm(self: Float[2], mat2: Float[2])') as string,
      }),
    );
    expect(liveTensors()).toBe(before);
  });

  it('pass an undefined tensor on, and name it if the operator does not accept one', () => {
    expect(() => operator('aten::neg')(UNDEFINED_TENSOR)).toThrowError(
      expect.objectContaining({
        code: 'ACC_OPERATOR_FAILED',
        message: expect.stringContaining('aten::neg(self: undefined)') as string,
      }),
    );
  });

  it.each([
    ['an unknown operator', () => operator('aten::no_such_thing')(), 'ACC_OPERATOR_UNKNOWN'],
    ['a missing argument', () => operator('aten::mm')(), 'ACC_OPERATOR_ARGUMENT'],
    ['too many arguments', () => operator('aten::neg')(null, null), 'ACC_OPERATOR_ARGUMENT'],
    ['null for a tensor', () => operator('aten::neg')(null), 'ACC_OPERATOR_ARGUMENT'],
    ['an unknown dtype', () => operator('aten::full')([2], 7, 'float12'), 'ACC_DTYPE_UNKNOWN'],
    ['too much memory', () => operator('aten::full')([2 ** 45], 7, 'float32'), 'ACC_OUT_OF_MEMORY'],
  ])('refuse %s', (_, call, code) => {
    expect(call).toThrowError(expect.objectContaining({ code }));
  });
});

it('a text that names no device is an error', () => {
  const empty = operator('aten::empty.memory_format');
  expect(() => empty([2], 'float32', null, 'nonsense')).toThrowError(
    expect.objectContaining({
      code: 'ACC_OPERATOR_FAILED',
      message: expect.stringMatching(/^aten::empty.*device: \?\).*nonsense/s) as string,
    }) as Error,
  );
  using after = empty([2], 'float32', null, 'cpu') as Tensor;
  expect(after.shape).toEqual([2]);
});

it('results that do not fit into one call are an error and leave nothing behind', () => {
  using rows = tensorFrom(new Float32Array(5000), 'float32', [5000, 1]);
  const before = liveTensors();
  expect(() => operatorWithResults('aten::unbind.int')(rows, 0)).toThrowError(
    expect.objectContaining({ code: 'ACC_OPERATOR_FAILED' }),
  );
  expect(liveTensors()).toBe(before);
});

it('a result of an element type without a name is an error, and no result is left behind', () => {
  using x = tensorFrom(Float64Array.of(1, 2, 3, 4), 'float64', [2, 2]);
  const before = liveTensors();
  const unknown = expect.objectContaining({ code: 'ACC_DTYPE_UNKNOWN' }) as Error;
  // Both results are complex128.
  expect(() => operatorWithResults('aten::linalg_eig')(x)).toThrowError(unknown);
  expect(() => operator('aten::view_as_complex')(x)).toThrowError(unknown);
  expect(liveTensors()).toBe(before);
});

it('an operator that does not return one tensor is an error, and no result is left behind', () => {
  using x = tensorFrom(Float32Array.of(1, 2, 3, 4), 'float32', [2, 2]);
  const before = liveTensors();
  const several = expect.objectContaining({
    message: expect.stringContaining('exactly one tensor') as string,
  });
  // Two tensors, and a list of them.
  for (const name of ['aten::max.dim', 'aten::unbind.int']) {
    expect(() => operator(name)(x, 1)).toThrowError(several as Error);
  }
  expect(liveTensors()).toBe(before);
});

it('a random seed of attention on a GPU, which is uint64, is a result', () => {
  using seed = operator('aten::full')([], 7, 'uint64');
  expect(seed).toMatchObject({ dtype: 'uint64', shape: [] });
  expect(seed.read()).toEqual(BigUint64Array.of(7n));
});
