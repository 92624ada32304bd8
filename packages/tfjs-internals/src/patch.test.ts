import { describe, expect, it } from 'vitest';
import { engineInternals } from './engine.js';
import { isPatched, patch, patchProperty, replaceForGood, type Undo } from './patch.js';

class Greeter {
  readonly name = 'tfjs';
  greet(to: string): string {
    return `${this.name} greets ${to}`;
  }
}

/** A patch that shows its position in the chain. */
const marked =
  (mark: string) =>
  (own: Greeter['greet']): Greeter['greet'] =>
    function (this: Greeter, to) {
      return `${mark}(${own.call(this, to)})`;
    };

const ORDERS = [
  [0, 1, 2],
  [0, 2, 1],
  [1, 0, 2],
  [1, 2, 0],
  [2, 0, 1],
  [2, 1, 0],
];

describe('patch', () => {
  it.each(ORDERS)('undone in the order %i, %i, %i keeps the others active', (...order) => {
    const greeter = new Greeter();
    const marks = ['a', 'b', 'c'];
    const undos = marks.map((mark) => patch(greeter, 'greet', 'fit', marked(mark)));
    const left = new Set(marks);
    for (const index of order) {
      undos[index]!();
      left.delete(marks[index]!);
      const expected = [...left].reduce((inner, mark) => `${mark}(${inner})`, 'tfjs greets you');
      expect(greeter.greet('you')).toBe(expected);
    }
    expect(Object.hasOwn(greeter, 'greet')).toBe(false);
  });

  it('undone twice has no further effect', () => {
    const greeter = new Greeter();
    const undoFirst = patch(greeter, 'greet', 'fit', marked('a'));
    undoFirst();
    const undo = patch(greeter, 'greet', 'fit', marked('b'));
    undoFirst();
    expect(greeter.greet('you')).toBe('b(tfjs greets you)');
    undo();
  });

  it('restores an own property', () => {
    const greeter = new Greeter();
    const hidden = { value: () => 'own', writable: true, configurable: true, enumerable: false };
    Object.defineProperty(greeter, 'greet', hidden);
    const undo = patch(greeter, 'greet', 'fit', marked('a'));
    expect(greeter.greet('you')).toBe('a(own)');
    expect(Object.keys(greeter)).toEqual(['name']);
    undo();
    expect(Object.getOwnPropertyDescriptor(greeter, 'greet')).toEqual(hidden);
  });

  it('is enumerable as the inherited method is', () => {
    const inherited = Object.create({ greet: (to: string) => to }) as Pick<Greeter, 'greet'>;
    const undos = [
      patch(inherited, 'greet', 'fit', () => () => 'a'),
      patch(new Greeter(), 'greet', 'fit', marked('a')),
    ];
    expect(Object.keys(inherited)).toEqual(['greet']);
    const greeter = new Greeter();
    undos.push(patch(greeter, 'greet', 'fit', marked('a')));
    expect(Object.keys(greeter)).toEqual(['name']);
    for (const undo of undos) undo();
    expect(Object.keys(inherited)).toEqual([]);
  });

  it('of a class does not affect one of an object', () => {
    const greeter = new Greeter();
    const undoObject = patch(greeter, 'greet', 'fit', marked('object'));
    const undoClass = patch(Greeter.prototype, 'greet', 'fit', marked('class'));
    expect([greeter.greet('you'), new Greeter().greet('you')]).toEqual([
      'object(tfjs greets you)',
      'class(tfjs greets you)',
    ]);
    undoClass();
    undoObject();
    expect(greeter.greet('you')).toBe('tfjs greets you');
  });

  it('passes calls on if somebody else has replaced the method since', () => {
    const greeter = new Greeter();
    const undoBelow = patch(greeter, 'greet', 'fit', marked('below'));
    const ours = greeter.greet;
    const theirs = (to: string) => `theirs(${ours.call(greeter, to)})`;
    greeter.greet = theirs;
    const undoAbove = patch(greeter, 'greet', 'fit', marked('above'));
    expect(greeter.greet('you')).toBe('above(theirs(below(tfjs greets you)))');
    undoBelow();
    expect(greeter.greet('you')).toBe('above(theirs(tfjs greets you))');
    undoAbove();
    expect(greeter.greet).toBe(theirs);
    greeter.greet = ours;
    const undo = patch(greeter, 'greet', 'fit', marked('again'));
    expect(greeter.greet('you')).toBe('again(tfjs greets you)');
    undo();
    expect(Object.hasOwn(greeter, 'greet')).toBe(false);
  });

  it('leaves the engine without delete, which would turn it into a dictionary', () => {
    const tfjs = engineInternals();
    const { isTapeOn } = tfjs;
    const undo: Undo = patch(tfjs, 'isTapeOn', 'recording', (own) => () => own.call(tfjs));
    expect(tfjs.isTapeOn).not.toBe(isTapeOn);
    undo();
    expect(tfjs.isTapeOn).toBe(isTapeOn);
    expect(Object.hasOwn(tfjs, 'isTapeOn')).toBe(true);
  });

  it('refuses a method that does not exist', () => {
    const changed = {} as Greeter;
    expect(() => patch(changed, 'greet', 'fit', marked('a'))).toThrow(
      expect.objectContaining({ code: 'ACC_TFJS_CHANGED', details: { method: 'greet', found: 'undefined' } }),
    );
  });
});

describe('the layer of a patch', () => {
  const LAYERS = ['freed activations', 'activation checkpoints', 'turns'] as const;

  it.each(ORDERS)('decides its place, installed in the order %i, %i, %i', (...order) => {
    const greeter = new Greeter();
    const undos = order.map((index) => patch(greeter, 'greet', LAYERS[index]!, marked(LAYERS[index]!)));
    expect(greeter.greet('you')).toBe('turns(activation checkpoints(freed activations(tfjs greets you)))');
    for (const undo of undos) undo();
    expect(Object.hasOwn(greeter, 'greet')).toBe(false);
  });

  it('keeps the order of time among patches of one layer', () => {
    const greeter = new Greeter();
    patch(greeter, 'greet', 'fit', marked('first'));
    patch(greeter, 'greet', 'turns', marked('turn'));
    patch(greeter, 'greet', 'fit', marked('second'));
    expect(greeter.greet('you')).toBe('turn(second(first(tfjs greets you)))');
  });

  it('holds across a replacement that somebody else has put between', () => {
    const greeter = new Greeter();
    patch(greeter, 'greet', 'turns', marked('turn'));
    const ours = greeter.greet;
    greeter.greet = (to: string) => `theirs(${ours.call(greeter, to)})`;
    const undo = patch(greeter, 'greet', 'fit', marked('fit'));
    expect(greeter.greet('you')).toBe('theirs(turn(fit(tfjs greets you)))');
    undo();
    expect(greeter.greet('you')).toBe('theirs(turn(tfjs greets you))');
  });

  it('throws for a wrong order, if the patch depends on the method that it finds', () => {
    const greeter = new Greeter();
    patch(greeter, 'greet', 'fused layers', marked('fused'));
    expect(() => patch(greeter, 'greet', 'batch statistics', marked('late'))).toThrow(
      expect.objectContaining({
        code: 'ACC_PATCH_ORDER',
        details: { method: 'Greeter.greet', layer: 'batch statistics', later: 'fused layers' },
      }),
    );
    expect(greeter.greet('you')).toBe('fused(tfjs greets you)');
  });

  it('is asked by isPatched, for the object itself', () => {
    const greeter = new Greeter();
    const undo = patch(greeter, 'greet', 'fit', marked('a'));
    expect([isPatched(greeter, 'greet', 'fit'), isPatched(greeter, 'greet', 'turns')]).toEqual([true, false]);
    expect(isPatched(Greeter.prototype, 'greet', 'fit')).toBe(false);
    undo();
    expect(isPatched(greeter, 'greet', 'fit')).toBe(false);
  });
});

it('replaceForGood puts the replacement itself on the object', () => {
  const greeter = new Greeter();
  const theirs = (to: string) => `for good: ${to}`;
  replaceForGood(greeter, 'greet', () => theirs);
  expect(greeter.greet).toBe(theirs);
});

it('patchProperty removes a property again, or restores the former one', () => {
  const object: { value?: number } = {};
  const undoFirst = patchProperty(object, 'value', { get: () => 1 });
  const undo = patchProperty(object, 'value', { get: () => 2 });
  expect(object.value).toBe(2);
  undo();
  expect(object.value).toBe(1);
  undoFirst();
  expect(Object.hasOwn(object, 'value')).toBe(false);
});
