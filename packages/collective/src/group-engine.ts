import type { Pending } from '@acc/contract';
import type { ProcessGroup, Work } from '@acc/native';

/**
 * Carries the calls of a group: a `ProcessGroup` of @acc/native, or another object with its members.
 */
export type GroupEngine = {
  readonly [K in keyof ProcessGroup]: ProcessGroup[K] extends (...args: infer A) => Work
    ? (...args: A) => Pending<void>
    : ProcessGroup[K];
};
