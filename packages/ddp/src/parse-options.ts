import { AccError, checkKeys } from '@acc/contract';
import type { z } from 'zod';

/**
 * Options with their defaults.
 *
 * @param where What they are, as the user wrote it.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function parseOptions<S extends z.ZodObject>(where: string, schema: S, given: object): z.infer<S> {
  checkKeys(where, given, Object.keys(schema.shape));
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0]!;
  throw new AccError('ACC_INVALID_OPTION', `${where}.${path.join('.')}: ${message}.`, {
    cause: result.error,
  });
}
