import { expect, it } from 'vitest';
import { beginObserved, observeCollectives } from './observe-collectives.js';

it('an observer hears of the begin and of the end of each part, until it is removed', () => {
  expect(beginObserved()).toBeUndefined();
  const heard: string[] = [];
  const removals = [
    observeCollectives((name) => heard.push(`end of ${name()}`)),
    observeCollectives(
      () => heard.push('end'),
      () => heard.push('begin'),
    ),
  ];
  const end = beginObserved()!;
  expect(heard).toEqual(['begin']);
  end(() => 'allReduce');
  expect(heard).toEqual(['begin', 'end of allReduce', 'end']);
  for (const remove of removals) remove();
  expect(beginObserved()).toBeUndefined();
});
