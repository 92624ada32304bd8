import type { Conversion } from './convert.js';
import type { ConvertedKey } from './draft.js';
import type { Outcome } from './outcome.js';

const TITLES: readonly (readonly [Outcome['kind'], string])[] = [
  ['taken', 'converted'],
  ['changed', 'converted, with a difference'],
  ['leftOut', 'not converted'],
];

/** A list of the keys of a converted file, by what became of them. */
export function formatConversion({ format, keys }: Conversion, path: string): string {
  const width = Math.max(0, ...keys.map((key) => sourceOf(key).length));
  const lines = TITLES.flatMap(([kind, title]) => {
    const some = keys.filter(({ outcome }) => outcome.kind === kind);
    if (some.length === 0) return [];
    return ['', `${title} (${some.length}):`, ...some.map((key) => lineOf(key, width))];
  });
  return [`${path} is a file of ${format}.`, ...lines, ''].join('\n');
}

function lineOf(key: ConvertedKey, width: number): string {
  return `  ${sourceOf(key).padEnd(width)}  ${resultOf(key.outcome)}`;
}

const sourceOf = ({ key, value }: ConvertedKey): string => `${key}: ${shown(value)}`;

function resultOf(outcome: Outcome): string {
  const note = outcome.note ?? '';
  const settings = outcome.kind === 'leftOut' ? [] : outcome.settings;
  const options = settings.map(({ section, name, value }) => `${section}.${name}: ${shown(value)}`);
  if (options.length === 0) return note;
  return options.join(', ') + (note && ` (${note})`);
}

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** The same for programs. */
export function conversionReport({ format, keys, text }: Conversion, output: string): object {
  const of = (kind: Outcome['kind']) =>
    keys
      .filter(({ outcome }) => outcome.kind === kind)
      .map(({ key, value, outcome }) => ({
        key,
        value,
        ...(outcome.kind !== 'leftOut' && { options: optionsOf(outcome.settings) }),
        ...(outcome.note !== undefined && { note: outcome.note }),
      }));
  return {
    format,
    ...(output === '-' ? { text } : { output }),
    taken: of('taken'),
    changed: of('changed'),
    leftOut: of('leftOut'),
  };
}

function optionsOf(settings: Extract<Outcome, { settings: unknown }>['settings']): Record<string, unknown> {
  return Object.fromEntries(settings.map(({ section, name, value }) => [`${section}.${name}`, value]));
}
