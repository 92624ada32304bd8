import { activeAcc } from '#platform/active-acc';
import type { Update } from './slots.js';

/** Variables that an optimizer updates together. Their values are needed between the two calls. */
export interface UpdateGroup {
  /** The names of the variables. */
  readonly names: ReadonlySet<string>;
  /** Called before the group is updated. It brings the variables and their state into memory. */
  readonly enter: () => void;
  /** Called after the group was updated. */
  readonly leave: () => void;
}

/** Whether the active backend updates group by group. */
export function canUpdateInGroups(): boolean {
  return activeAcc() !== undefined;
}

let active: readonly UpdateGroup[] | undefined;

/**
 * Runs `fn`, in which an optimizer updates variables group by group, in this order, after those in
 * no group. The result is the same, bit for bit, and the step counts once. Classes of
 * users, and updates in tfjs's debug mode or on other backends, update all variables at once and
 * call neither `enter` nor `leave`.
 */
export function updateInGroups(groups: readonly UpdateGroup[], fn: () => void): void {
  const before = active;
  active = groups;
  try {
    fn();
  } finally {
    active = before;
  }
}

/** Undefined outside of {@link updateInGroups}. */
export function activeGroups(): readonly UpdateGroup[] | undefined {
  return active;
}

/** Runs `update` for the variables in no group, then for each group. Outside of groups: for all. */
export function inGroups(updates: readonly Update[], update: (some: readonly Update[]) => void): void {
  const groups = active ?? [];
  const names = new Set(groups.flatMap((group) => [...group.names]));
  update(updates.filter(({ variable }) => !names.has(variable.name)));
  for (const group of groups) {
    group.enter();
    update(updates.filter(({ variable }) => group.names.has(variable.name)));
    group.leave();
  }
}
