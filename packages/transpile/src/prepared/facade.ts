import type { PreparedModule } from './prepare.js';

/** The text of an ES module that has the exports of an object. */
export interface FacadeParts {
  /** Statements before, with line ends. */
  readonly head?: string;
  /** The expression of the object. */
  readonly object: string;
  readonly names: Iterable<string>;
  /** Whether the default export is the object itself, as that of a CommonJS module is. */
  readonly isCommonJs: boolean;
}

export function facadeOf({ head = '', object, names, isCommonJs }: FacadeParts): string {
  const list = [...names].filter((name) => !isCommonJs || name !== 'default');
  return [
    `${head}const all = ${object};`,
    // The same semantics as exports of Node.js.
    'const get = (name) => (Object.hasOwn(all, name) ? all[name] : undefined);',
    ...(isCommonJs ? ['export default all;'] : []),
    ...list.map((name, i) => `const ${localName(name, i)} = /* @__PURE__ */ get(${JSON.stringify(name)});`),
    `export { ${list.map((name, i) => `${localName(name, i)} as ${JSON.stringify(name)}`).join(', ')} };\n`,
  ].join('\n');
}

/** Error messages of V8 show it. */
const localName = (name: string, index: number): string =>
  /^[A-Za-z_$][\w$]*$/.test(name) ? `_${name}` : `${index}`.padStart(2, '_');

/** A module that passes on the exports of a prepared one. */
export function preparedFacade(specifier: string, module: PreparedModule, loader: string): string {
  return facadeOf({
    head: `import { exportsOf } from ${JSON.stringify(loader)};\n`,
    object: `exportsOf(${JSON.stringify(module.url)}, ${JSON.stringify(specifier)}, import.meta)`,
    names: module.names,
    isCommonJs: false,
  });
}
