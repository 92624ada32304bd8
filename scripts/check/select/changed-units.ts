// What differs between two versions of a module.
import { keyOf, type ModuleUnits, type StatementUnit } from '../source/units.js';

export interface ChangedUnits {
  /** The keys of functions of the former version that changed or are gone. */
  readonly functions: readonly string[];
  /**
   * Names whose meaning changed: constants, imports, re-exports. Functions that mention one may
   * behave differently.
   */
  readonly names: readonly ChangedName[];
  /** True if a statement changed that acts when the module is loaded. */
  readonly hasEffect: boolean;
}

export interface ChangedName {
  readonly name: string;
  /** False: only its own module can mention it. */
  readonly isExported: boolean;
}

export function changedUnits(before: ModuleUnits, now: ModuleUnits): ChangedUnits {
  const keys = new Set(now.functions.map(keyOf));
  const functions = [...new Set(before.functions.map(keyOf))].filter((key) => !keys.has(key));
  return { functions, names: changedNames(before, now), hasEffect: effectsOf(before) !== effectsOf(now) };
}

function changedNames(before: ModuleUnits, now: ModuleUnits): ChangedName[] {
  const former = bindingsOf(before);
  const present = bindingsOf(now);
  const names: ChangedName[] = [];
  for (const [name, old] of former) {
    const found = present.get(name);
    const isSame = found && (found.hash === old.hash || (found.kind === 'code' && old.kind === 'code'));
    if (!isSame) names.push({ name, isExported: old.isExported || found?.isExported === true });
  }
  return [...names, ...addedMembers(before, now)];
}

function bindingsOf({ statements }: ModuleUnits): Map<string, StatementUnit> {
  const bound = statements.flatMap((unit) => unit.names.map((name) => [name, unit] as const));
  return new Map(bound.filter(([name]) => name !== '*'));
}

/** A method may be called by code that did not change: it overrides another, or is optional. */
function addedMembers(before: ModuleUnits, now: ModuleUnits): ChangedName[] {
  const known = new Set(before.functions.map(({ name }) => name));
  const added = now.functions.filter(({ name }) => name.includes('.') && !known.has(name));
  const names = added.map(({ name }) =>
    name
      .split('.')
      .at(-1)!
      .replace(/^[gs]et /, ''),
  );
  return names.filter((name) => /^#?\w+$/.test(name)).map((name) => ({ name, isExported: true }));
}

const effectsOf = ({ statements }: ModuleUnits): string =>
  statements.flatMap(({ kind, hash }) => (kind === 'effect' ? [hash] : [])).join();
