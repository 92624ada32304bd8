import { ACCELERATOR_FIELDS, type Field, type FieldValue } from '@acc/config';
import { expect, it } from 'vitest';
import { resolveOptions, type AcceleratorOptions } from './options.js';

/** Options with one value at a path. */
function optionsWith(name: string, value: FieldValue): AcceleratorOptions {
  return name
    .split('.')
    .reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as AcceleratorOptions;
}

function samples(field: Field): readonly FieldValue[] {
  if (field.kind === 'choice') return field.choices;
  if (field.kind === 'whole') return [Math.max(field.least, 1)];
  if (field.kind === 'number') return [/growthFactor|initial/.test(field.name) ? 2 : 0.5];
  if (field.kind === 'switch') return [true, false];
  return field.kind === 'text' ? ['a folder'] : [['console']];
}

/** Options that hold objects or functions, or a choice between a switch and options. */
const IN_PROGRAMS_ONLY = ['plugins'];

it('options of config files are those of the Accelerator', () => {
  for (const field of ACCELERATOR_FIELDS) {
    for (const value of samples(field)) {
      const besides = field.name === 'checkpoint.keepEvery' ? { keepLast: 1 } : undefined;
      const options = optionsWith(field.name, value);
      const given = besides ? { checkpoint: { ...options.checkpoint, ...besides } } : options;
      expect(() => resolveOptions(given), `${field.name}: ${String(value)}`).not.toThrow();
    }
  }
  const configurable = new Set(ACCELERATOR_FIELDS.map(({ name }) => name.split('.')[0]!));
  const all = Object.keys(
    resolveOptions({ ddp: {}, fsdp: {}, mesh: {}, amp: {}, checkpoint: {}, checkpointEvery: 1, logWith: [] }),
  );
  expect(all.filter((name) => !configurable.has(name))).toEqual(IN_PROGRAMS_ONLY);
});
