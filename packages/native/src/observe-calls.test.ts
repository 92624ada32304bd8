import { afterEach, expect, it } from 'vitest';
import { addCallObserver, callObserver, observeCalls } from './observe-calls.js';
import { operator, operatorInPlace } from './operator.js';
import { tensorFrom } from './tensor.js';

afterEach(() => observeCalls(undefined));

it('an observer sees every call until it is removed, and results stay the same', () => {
  const heard: { name: string; args: readonly unknown[]; ms: number }[] = [];
  using x = tensorFrom(Float32Array.of(1, 2), 'float32', [2]);
  const add = operator('aten::add.Tensor');
  observeCalls((name, args, ms) => heard.push({ name, args, ms }));
  using sum = add(x, x);
  operatorInPlace('aten::mul_.Scalar')(sum, 10);
  observeCalls(undefined);
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
  const removeA = addCallObserver(() => heard.push('a'));
  const removeB = addCallObserver(() => heard.push('b'));
  expect(run()).toBe('ab');
  observeCalls(() => heard.push('s'));
  removeA();
  expect(run()).toBe('sb');
  const removeC = addCallObserver(() => heard.push('c'));
  removeB();
  observeCalls(undefined);
  expect(run()).toBe('c');
  removeC();
  expect(callObserver).toBeUndefined();
});
