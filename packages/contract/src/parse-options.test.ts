import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { AccError } from './errors.js';
import { parseOptions } from './parse-options.js';

const dtype = z.enum(['float32', 'int32']);
const schema = z.object({
  column: z.union([dtype, z.strictObject({ dtype, from: z.array(z.string()).optional() })]),
});

function thrown(column: unknown): AccError {
  try {
    parseOptions('f', schema, { column });
  } catch (error) {
    return error as AccError;
  }
  return expect.unreachable('it is accepted');
}

describe('a value that fits no alternative of a union', () => {
  it('gets the expectations of all alternatives, and the nearest value', () => {
    const error = thrown('int23');
    expect(error.code).toBe('ACC_INVALID_OPTION');
    expect(error.message).toContain(`f.column is "int23"; expected one of 'float32', 'int32' or an object.`);
    expect(error.help).toContain('int32');
  });

  it('gets the expectation inside of the alternative whose type it has', () => {
    const error = thrown({ dtype: 'int32', from: 'a' });
    expect(error.code).toBe('ACC_INVALID_OPTION');
    expect(error.message).toContain('f.column.from is "a"; expected an array.');
    expect(thrown({ dtype: 'int32', form: ['a'] }).code).toBe('ACC_UNKNOWN_OPTION');
  });
});
