import { expect, it } from 'vitest';
import { withOwnNames } from './own-names.js';

it('names only functions and classes again that the script names otherwise', () => {
  const script = [
    '"use strict";',
    'function a() {}',
    'async function a2() {}',
    'var B = class {',
    '};',
    'var B2 = class extends B {',
    '  static x = this.name;',
    '};',
    'var C = class _C {',
    '};',
    'return [a.name, a2.name, B.name, B2.name, B2.x, C.name];',
  ].join('\n');
  const named = [
    '"use strict";',
    'function a() {}',
    '__name(a, "a");',
    'async function a2() {}',
    '  __name(a2, "a");',
    'var B = class {',
    '  static {',
    '    __name(this, "B");',
    '  }',
    '};',
    'var B2 = class extends B {',
    '  static {',
    '    __name(this, "B");',
    '  }',
    '  static x = this.name;',
    '};',
    'var C = class _C {',
    '  static {',
    '    __name(this, "_C");',
    '  }',
    '};',
  ].join('\n');
  const result = withOwnNames(script, named);
  expect(result.split('\n')).toHaveLength(script.split('\n').length);
  expect(new Function(result)()).toEqual(['a', 'a', 'B', 'B', 'B', '_C']);
  expect(() => withOwnNames(script.replace('var B2', 'var B3'), named)).toThrow('The scripts differ in B2.');
});
