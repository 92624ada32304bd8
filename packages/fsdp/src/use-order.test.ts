import { describe, expect, it } from 'vitest';
import { UseOrder } from './use-order.js';

const orderAfter = (uses: string): UseOrder<string> => {
  const order = new UseOrder<string>(() => 100);
  for (const unit of uses) order.note(unit);
  order.end();
  return order;
};

describe('the order of uses', () => {
  it('is known from the second pass on', () => {
    const order = new UseOrder<string>(() => 100);
    order.note('a');
    expect(order.next(2)).toEqual([]);
    order.note('b');
    order.end();
    order.note('a');
    expect(order.next(2)).toEqual(['b']);
  });

  it('has a unit that is used again at each of its places', () => {
    const order = orderAfter('abbacca');
    const next = [...'abaca'].map((unit) => {
      order.note(unit);
      return order.next(1).join();
    });
    expect(next).toEqual(['b', 'a', 'c', 'a', '']);
  });

  it('begins again with a second forward pass', () => {
    const order = orderAfter('abccba'.replace('cc', 'c'));
    for (const unit of 'abc') order.note(unit);
    order.note('a');
    expect(order.next(2)).toEqual(['b', 'c']);
    for (const unit of 'bcba') order.note(unit);
    order.end();
    order.note('a');
    expect(order.next(9)).toEqual([...'bcba']);
  });

  it('is unknown after a use that the pass before did not have, and then learned anew', () => {
    const order = orderAfter('abc');
    order.note('a');
    order.note('c');
    expect(order.next(1)).toEqual([]);
    order.note('b');
    expect(order.next(1)).toEqual([]);
    order.end();
    order.note('a');
    expect(order.next(2)).toEqual(['c', 'b']);
  });

  it('remembers no more than it is told to', () => {
    const order = new UseOrder<number>(() => 3);
    for (let i = 0; i < 10; i++) order.note(i);
    order.end();
    order.note(0);
    expect(order.next(9)).toEqual([1, 2]);
  });
});
