import type { ACCELERATOR_FIELDS, LAUNCH_FIELDS } from '@acc/config';

/** The path of an option of `Accelerator.create`. A rule with another path fails the type check. */
export type AcceleratorName = (typeof ACCELERATOR_FIELDS)[number]['name'];
type LaunchName = (typeof LAUNCH_FIELDS)[number]['name'];

/** An option that a foreign key gives. */
export type Setting =
  | { readonly section: 'launch'; readonly name: LaunchName; readonly value: unknown }
  | { readonly section: 'accelerator'; readonly name: AcceleratorName; readonly value: unknown };

/** The result of converting a foreign key. */
export type Outcome =
  | { readonly kind: 'taken'; readonly settings: readonly Setting[]; readonly note?: string }
  | { readonly kind: 'changed'; readonly settings: readonly Setting[]; readonly note: string }
  | { readonly kind: 'leftOut'; readonly note: string };

/** The value at a path of the foreign file: `zero_optimization.stage`. Undefined if it is absent. */
export type ValueAt = (path: string) => unknown;

export type Rule = (value: unknown, at: ValueAt) => Outcome;

/**
 * Rules by the path of a key. A path with `*` at its end is for all keys that begin with it; the
 * longest one that fits is used.
 */
export type Rules = Readonly<Record<string, Rule>>;

export const launch = (name: LaunchName, value: unknown): Setting => ({ section: 'launch', name, value });

export const accelerator = (name: AcceleratorName, value: unknown): Setting => ({
  section: 'accelerator',
  name,
  value,
});

export const taken = (...settings: readonly Setting[]): Outcome => ({ kind: 'taken', settings });

/** The value asks for what happens without an option. */
export const isDefault = (note = 'the default'): Outcome => ({ kind: 'taken', settings: [], note });

export const changed = (note: string, ...settings: readonly Setting[]): Outcome => ({
  kind: 'changed',
  settings,
  note,
});

export const leftOut = (note: string): Outcome => ({ kind: 'leftOut', note });

/** The option with this name gets the value as it is. */
export const same =
  (setting: (value: unknown) => Setting): Rule =>
  (value) =>
    taken(setting(value));

/** For keys that have no effect here. */
export const without =
  (note: string): Rule =>
  () =>
    leftOut(note);

/** For what is always on here: true is taken, and false is not possible. */
export const always =
  (note: string): Rule =>
  (value) =>
    value === true ? isDefault(note) : leftOut(`${note}; it cannot be turned off`);

/** For a switch without a counterpart: false is taken, true is left out. */
export const absent =
  (note: string): Rule =>
  (value) =>
    value === false ? isDefault() : leftOut(note);

/** The entries of rules with a text before each path. */
export function below(prefix: string, rules: Rules): Rules {
  return Object.fromEntries(Object.entries(rules).map(([path, rule]) => [prefix + path, rule]));
}
