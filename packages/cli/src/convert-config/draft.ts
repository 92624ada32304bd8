import { isRecord, nearestName } from '@acc/contract';
import {
  ACCELERATOR_FIELDS,
  expected,
  isValue,
  LAUNCH_FIELDS,
  type ConfigValues,
  type FieldValue,
} from '@acc/config';
import { leftOut, type Outcome, type Rule, type Rules, type Setting, type ValueAt } from './outcome.js';

/** One key of the foreign file, with the result of its conversion. */
export interface ConvertedKey {
  /** The path of the key, after the name of its file if that is another one. */
  readonly key: string;
  readonly value: unknown;
  readonly outcome: Outcome;
}

type Section = Record<string, FieldValue>;

/** The options of a new config file, and what became of each key. */
export class Draft {
  readonly keys: ConvertedKey[] = [];
  readonly #values = { launch: {} as Section, accelerator: {} as Section };

  get values(): ConfigValues {
    return this.#values;
  }

  /** Converts each key of a file. `prefix` stands before paths in the list of keys. */
  addFile(content: Readonly<Record<string, unknown>>, rules: Rules, prefix = ''): void {
    const at: ValueAt = (path) =>
      path.split('.').reduce<unknown>((record, key) => (isRecord(record) ? record[key] : undefined), content);
    for (const [key, value] of leavesOf(content)) {
      this.keys.push({
        key: prefix + key,
        value,
        outcome: this.#taken(outcomeOf(key, value, { rules, at })),
      });
    }
  }

  /** The outcome, unless an option does not take the value or has another one already. */
  #taken(outcome: Outcome): Outcome {
    if (outcome.kind === 'leftOut') return outcome;
    for (const setting of outcome.settings) {
      const problem = this.#problemOf(setting);
      if (problem !== undefined) return leftOut(problem);
    }
    for (const { section, name, value } of outcome.settings) {
      const known = this.#values[section][name];
      this.#values[section][name] = Array.isArray(known)
        ? [...new Set([...known, ...(value as string[])])]
        : (value as FieldValue);
    }
    return outcome;
  }

  #problemOf({ section, name, value }: Setting): string | undefined {
    const fields = section === 'launch' ? LAUNCH_FIELDS : ACCELERATOR_FIELDS;
    const field = fields.find((one) => one.name === name)!;
    if (!isValue(field, value)) return `${section}.${name}: expected ${expected(field)}`;
    const known = this.#values[section][name];
    const isOther = known !== undefined && known !== value && !Array.isArray(known);
    return isOther ? `another key gives ${section}.${name}: ${String(known)}` : undefined;
  }
}

function outcomeOf(
  key: string,
  value: unknown,
  { rules, at }: { readonly rules: Rules; readonly at: ValueAt },
): Outcome {
  const rule = ruleFor(key, rules);
  if (!rule) {
    const nearest = nearestName(key, Object.keys(rules));
    return leftOut(nearest ? `an unknown key. Did you mean ${nearest}?` : 'an unknown key');
  }
  if (isEmpty(value)) return leftOut('empty');
  if (value === 'auto') return leftOut('auto: the Trainer of Hugging Face chooses it. Give a value here');
  return rule(value, at);
}

/** The rule for exactly this path, else the one with the longest beginning of it. */
export function ruleFor(key: string, rules: Rules): Rule | undefined {
  if (Object.hasOwn(rules, key)) return rules[key];
  const [longest] = Object.keys(rules)
    .filter((path) => path.endsWith('*') && key.startsWith(path.slice(0, -1)))
    .sort((a, b) => b.length - a.length);
  return longest === undefined ? undefined : rules[longest];
}

/** The values of a record by path. Lists and empty records are values. */
export function leavesOf(record: Readonly<Record<string, unknown>>, prefix = ''): [string, unknown][] {
  return Object.entries(record).flatMap(([key, value]): [string, unknown][] =>
    isRecord(value) && !isEmpty(value) ? leavesOf(value, `${prefix}${key}.`) : [[prefix + key, value]],
  );
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
