import { parseArgs } from 'node:util';

/**
 * Reads whole numbers from the command line: `--epochs 3`. A number that is not given has the value
 * of `defaults`.
 */
export function readNumbers<T extends Record<string, number>>(defaults: T): T {
  const options = Object.fromEntries(
    Object.keys(defaults).map((name) => [name, { type: 'string' as const }]),
  );
  const { values } = parseArgs({ options });
  const given = Object.entries(values).map(([name, text]) => {
    const number = Number(text);
    if (Number.isInteger(number) && number > 0) return [name, number] as const;
    throw new Error(`--${name} takes a whole number from 1, not '${String(text)}'.`);
  });
  return { ...defaults, ...Object.fromEntries(given) };
}
