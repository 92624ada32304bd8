import { expect, it } from 'vitest';
import { callObserver, observeCalls } from './observe-calls.js';
import { operator, operatorInPlace } from './operator.js';
import { tensorFrom } from './tensor.js';

it('an observer sees every call until it is removed, and results stay the same', () => {
  const heard: { name: string; args: readonly unknown[]; ms: number }[] = [];
  using x = tensorFrom(Float32Array.of(1, 2), 'float32', [2]);
  const add = operator('aten::add.Tensor');
  const end = observeCalls((name, args, ms) => heard.push({ name, args, ms }));
  using sum = add(x, x);
  operatorInPlace('aten::mul_.Scalar')(sum, 10);
  end();
  using unheard = add(sum, x);
  expect([...unheard.read()]).toEqual([21, 42]);
  expect(heard.map(({ name, args }) => ({ name, args }))).toEqual([
    { name: 'aten::add.Tensor', args: [x, x] },
    { name: 'aten::mul_.Scalar', args: [sum, 10] },
  ]);
  expect(heard.every(({ ms }) => Number.isFinite(ms) && ms >= 0)).toBe(true);
});

it('observers are added and removed in any order, and nothing is left of them', () => {
  const heard: string[] = [];
  using x = tensorFrom(Float32Array.of(1, 2), 'float32', [2]);
  const run = () => {
    operator('aten::add.Tensor')(x, x).dispose();
    return heard.splice(0).join('');
  };
  const removeA = observeCalls(() => heard.push('a'));
  const removeB = observeCalls(() => heard.push('b'));
  expect(run()).toBe('ab');
  removeA();
  expect(run()).toBe('b');
  const removeC = observeCalls(() => heard.push('c'));
  removeB();
  expect(run()).toBe('c');
  removeC();
  expect(callObserver).toBeUndefined();
});
