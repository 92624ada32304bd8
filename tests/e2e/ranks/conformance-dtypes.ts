import type { NativeDtype } from '@acc/contract';

/**
 * The element types for the conformance suite on native tensors. How an engine treats a type does not
 * depend on the number of ranks, so the largest groups pass few of them in `npm test`.
 */
export const NATIVE_DTYPES: Readonly<Record<'all' | 'few', readonly NativeDtype[]>> = {
  all: ['float32', 'float64', 'bfloat16', 'float16', 'int32', 'int64', 'bool'],
  few: ['float32', 'float64', 'bfloat16', 'bool'],
};
