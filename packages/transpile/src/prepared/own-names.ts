/** A statement of esbuild about a function. */
const FUNCTION = /^\s*__name\(([\w$]+), "([^"]+)"\);$/gm;
const TOP_FUNCTION = /^(?:async )?function\*? ([\w$]+)\(/gm;
/** One in a class that is assigned to a variable. */
const CLASS =
  /^\s*(?:(?:var )?([\w$]+) = class(?: (?!extends\b)([\w$]+))?|class ([\w$]+))\b[^\n]*\{\n\s*static \{\n\s*__name\(this, "([^"]+)"\);/gm;

/**
 * Gives functions and classes their names again. In a script, a name that two modules have is another
 * one, which error messages would show.
 *
 * @param named The same script with all names, as esbuild writes it. It takes longer to evaluate,
 * also in the functions themselves.
 * @throws Error if the scripts differ.
 */
export function withOwnNames(script: string, named: string): string {
  const atTop = new Set([...script.matchAll(TOP_FUNCTION)].map(([, name]) => name));
  const statements = [...named.matchAll(FUNCTION)]
    .filter(([, renamed, name]) => renamed !== name && atTop.has(renamed))
    .map(([, renamed, name]) => nameOf(renamed!, name!));
  const classes = [...named.matchAll(CLASS)]
    .map(([, variable, inner, declared, name]) => ({
      variable,
      own: inner ?? declared ?? variable!,
      name: name!,
    }))
    .filter(({ own, name }) => own !== name);
  const withClasses = classes.reduce((text, { variable, own, name }) => {
    const start = variable === undefined ? `class ${own}` : `${variable} = class`;
    const pattern = new RegExp(`(^\\s*(?:var )?${quoted(start)}\\b[^\\n]*\\{)$`, 'm');
    if (!pattern.test(text)) throw differ(own);
    return text.replace(pattern, (head) => `${head} static { ${nameOf('this', name)} }`);
  }, script);
  // Functions are there before the first statement. The first line has a directive.
  return withClasses.replace(';', () => `;${statements.join('')}`);
}

const nameOf = (object: string, name: string): string =>
  `Object.defineProperty(${object}, "name", { value: ${JSON.stringify(name)}, configurable: true });`;

const quoted = (text: string): string => text.replaceAll('$', '\\$');

const differ = (name: string): Error => new Error(`The scripts differ in ${name}.`);
