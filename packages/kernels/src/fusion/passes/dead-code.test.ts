import { expect, it } from 'vitest';
import { GraphBuilder, operatorsOf } from '../testing.js';
import { removeDeadCode } from './dead-code.js';

it('removes calls that nobody needs, and keeps writes and random draws', () => {
  const graph = new GraphBuilder();
  const x = graph.input();
  graph.call('exp', [graph.call('neg', [x])]);
  const y = graph.call('tanh', [x]);
  graph.call('mul_.Tensor', [y, x], { effect: 'writes', results: [] });
  graph.call('rand', [], { effect: 'draws' });
  expect(operatorsOf(removeDeadCode(graph.build(y)))).toEqual(['tanh', 'mul_', 'rand']);
  expect(operatorsOf(removeDeadCode(new GraphBuilder().build()))).toEqual([]);
});
