// Which functions depend on names whose meaning changed.
import { keyOf, type ModuleUnits, type StatementUnit } from '../source/units.js';
import type { ChangedName } from './changed-units.js';

export interface Modules {
  exists(path: string): boolean;
  /** The sources whose text contains a word. */
  containing(word: string): readonly string[];
  units(path: string): ModuleUnits | undefined;
}

export interface Mentioning {
  readonly path: string;
  /** The key of the function. */
  readonly key: string;
  /** Through how many declarations the name arrives at the function. */
  readonly steps: number;
}

export interface Spread {
  readonly functions: readonly Mentioning[];
  /** Modules that do something with a name when they are loaded. */
  readonly effects: readonly string[];
}

interface Place extends ChangedName {
  readonly path: string;
  readonly steps: number;
}

/**
 * The functions that mention a changed name of the module at `path`, or a constant that is made from
 * one, and so on. Names are compared as words, in all packages if they are exported, so that
 * functions may be too many and never too few.
 */
export function spread(path: string, names: readonly ChangedName[], modules: Modules): Spread {
  const waiting: Place[] = names.map((name) => ({ ...name, path, steps: 0 }));
  const seen = new Set<string>();
  const functions = new Map<string, Mentioning>();
  const effects = new Set<string>();
  for (const place of waiting) {
    const id = place.isExported ? place.name : `${place.path}#${place.name}`;
    if (seen.has(id)) continue;
    seen.add(id);
    for (const file of place.isExported ? modules.containing(place.name) : [place.path]) {
      const units = modules.units(file);
      for (const unit of units?.functions ?? []) {
        const found = { path: file, key: keyOf(unit), steps: place.steps };
        const key = `${file} ${found.key}`;
        if (unit.mentions.has(place.name) && !functions.has(key)) functions.set(key, found);
      }
      for (const statement of units?.statements ?? []) {
        if (!statement.mentions.has(place.name)) continue;
        if (statement.kind === 'effect') effects.add(file);
        waiting.push(...namesFrom(statement, place, file));
      }
    }
  }
  return { functions: [...functions.values()], effects: [...effects] };
}

/** The names that a statement makes from another. */
function namesFrom(statement: StatementUnit, { name, steps }: Place, path: string): Place[] {
  const { kind, names, isExported } = statement;
  if (kind === 'effect' || kind === 'code') return [];
  // An import or a re-export under the same name is found by its name.
  const step = kind === 'declaration' ? 1 : 0;
  const others = names.filter((other) => other !== name && other !== '*');
  return others.map((other) => ({ name: other, isExported, path, steps: steps + step }));
}
